"""The page of recipes is the code's."""

from pathlib import Path

from engine.jobs.recipes.catalogue import built_in
from engine.jobs.recipes.document import document
from engine.jobs.recipes.document_text import EXAMPLE
from engine.jobs.recipes.reading import read_recipe

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == document(), "python -m engine.jobs.recipes.document > docs/recipes.md"


def test_every_recipe_and_key_is_explained() -> None:
    text = document()
    assert all(f"| `{name}` |" in text for name in built_in())
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert not [row for row in rows if row.endswith("|  |") and row.count("|") == 5]


def test_its_example_is_a_recipe() -> None:
    assert read_recipe(EXAMPLE, "example.toml").name == "my-train"
