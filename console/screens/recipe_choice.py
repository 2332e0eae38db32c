"""Which recipe to launch."""

import asyncio
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from console.screens.listing import ListingScreen
from engine.jobs.recipes.catalogue import Catalogue, load_catalogue
from engine.jobs.recipes.records import Recipe
from state.outside_text import plain_line
from widgets.columns import Column
from widgets.table import Table

COLUMNS: tuple[Column[Recipe], ...] = (
    Column("Recipe", lambda one: one.name, 24, sort_key=lambda one: one.name),
    Column("Kind", lambda one: one.kind, 8, sort_key=lambda one: one.kind),
    Column("For", lambda one: one.release, 18, priority=2, sort_key=lambda one: one.release),
    Column("What it does", lambda one: plain_line(one.help, 200), 30, grows=True),
)


class RecipeChoiceScreen(ListingScreen):
    """Enter opens the form of a recipe, of all of them or of one kind. Files with a mistake are named below."""

    TITLE_TEXT = "Launch"
    BELONGS_TO = "Jobs"
    PLACES = ("lists", "details")
    BINDINGS: ClassVar[list[BindingType]] = []
    DEFAULT_CSS = "RecipeChoiceScreen { & #mistakes { height: auto; max-height: 40%; padding: 0 1; color: $error; } }"

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self._kind = kind

    def make_table(self) -> Table[Any]:
        """The table."""
        return Table(COLUMNS, key=lambda one: one.name, empty="reading ...", id="table")

    def compose_body(self) -> ComposeResult:
        """The recipes, and what is wrong with files."""
        yield from super().compose_body()
        yield Static("", id="mistakes", markup=False)

    def on_mount(self) -> None:
        """Read the recipes off the event loop."""
        super().on_mount()
        self.run_worker(self._read())

    def open_record(self, record: Recipe) -> None:
        """Show its form."""
        from console.screens.launch import LaunchScreen

        self.app.push_screen(LaunchScreen(record))

    async def _read(self) -> None:
        found: Catalogue = await asyncio.to_thread(load_catalogue)
        self.table.show(tuple(one for one in found.recipes.values() if self._kind in ("", one.kind)))
        lines = [Content(f"✗ {plain_line(str(mistake), 400)}") for mistake in found.mistakes]
        self.query_one("#mistakes", Static).update(Content("\n").join(lines))
