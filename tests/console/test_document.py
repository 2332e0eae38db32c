"""The document of the console says what the console does."""

from pathlib import Path

from console.actions import SCREEN_KEYS, key_table

DOCUMENT = Path(__file__).parents[2] / "docs" / "console.md"


def test_the_key_table_is_that_of_the_actions() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    between = text.partition("<!-- keys: begin -->")[2].partition("<!-- keys: end -->")[0]
    assert between.strip() == key_table()


def test_every_screen_is_described() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for key, name in SCREEN_KEYS:
        assert f"| `{key}` | {name} |" in text
