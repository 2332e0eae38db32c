"""The page of rules is the code's."""

from pathlib import Path

from engine.check.rules import RULES
from engine.check.rules.document import document

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == document(), "python -m engine.check.rules.document > docs/rules.md"


def test_every_rule_stands_on_it_once() -> None:
    text = PAGE.read_text()
    assert all(text.count(f"### `{rule}`") == 1 for rule in RULES)
