"""The page about the database is that of the schema."""

from pathlib import Path

from state.document import document

PAGE = Path(__file__).parents[2] / "docs" / "database.md"


def test_the_page_is_made_from_the_schema() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), "python -m state.document > docs/database.md"
