"""A search: its scouts at work above, the curated table below."""

from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, Static

from console.actions import bindings
from console.screens.data_actions import go_on, stop_work
from console.screens.listing import ListingScreen
from state.outside_text import plain_line
from state.records.data import DataSet, DataWork, SearchRow
from widgets.data.columns import SCOUT_COLUMNS, SET_COLUMNS
from widgets.table import Table

SCOUTS_FROM_LINES = 30
"""Below so many lines the scouts make room for the table once there is one."""
NO_TABLE = "The table is made when all scouts are back. A stopped search goes on with r."


class SetsScreen(ListingScreen):
    """A curated table; Enter opens a set, w makes a plan of those that are kept."""

    BELONGS_TO = "Data"
    PLACES: ClassVar[tuple[str, ...]] = ("data sets", "lists", "details")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("data sets"), *bindings("details")]

    def make_table(self) -> Table[Any]:
        """Sets, those that are kept first."""
        return Table(SET_COLUMNS, key=lambda one: (one.id, one.config, one.split), empty=NO_TABLE, id="table")

    def open_record(self, record: DataSet) -> None:
        """Show every fact of a set."""
        from console.screens.data_set import SetScreen

        self.app.push_screen(SetScreen(record))

    def sets(self) -> tuple[DataSet, ...]:
        """The table."""
        raise NotImplementedError

    def plan_path(self) -> Path:
        """Where a plan of it would lie."""
        raise NotImplementedError

    def plan_name(self) -> str:
        """What it would be called."""
        return "campaign"

    def action_write_plan(self) -> None:
        """Make a plan of the sets that are kept, and open it."""
        from console.screens.data_plan import new_plan

        if not any(one.kept for one in self.sets()):
            self.notify("No set is kept yet", markup=False)
            return
        new_plan(self.console, self.sets(), self.plan_path(), self.plan_name())


class CatalogueScreen(SetsScreen):
    """The sets that come with Alula: usable with no network."""

    TITLE_TEXT = "Catalogue"

    def title_text(self) -> str:
        """What it is."""
        return "Catalogue: the ten sets of the first campaign"

    def sets(self) -> tuple[DataSet, ...]:
        """The built-in sets."""
        from engine.data.catalogue.catalogue import catalogue

        return catalogue()

    def plan_path(self) -> Path:
        """Beside the runs."""
        return self.console.folder.path / "plans" / "catalogue.toml"

    def on_mount(self) -> None:
        """Show them."""
        super().on_mount()
        self.table.show(self.sets())


class SearchScreen(SetsScreen):
    """Follows the scouts; the table comes when they are back."""

    TITLE_TEXT = "Search"
    PLACES = ("data sets", "data work", "lists", "details")
    TOPICS = frozenset({"data"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("data work")]
    DEFAULT_CSS = """
    SearchScreen {
        & #message { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
        & #scouts { height: 12; }
        & #table { border-top: solid $panel-lighten-1; }
        &.brief #scouts { display: none; }
    }
    """

    def __init__(self, row: SearchRow) -> None:
        super().__init__()
        self.row = row

    def title_text(self) -> str:
        """Its name and how it stands."""
        return plain_line(f"Search {self.row.search.name}: {self.row.search.state}", 100)

    def compose_body(self) -> ComposeResult:
        """The filter, scouts, the table."""
        yield Input(placeholder="text to match; ! before it inverts; Esc ends", id="filter", compact=True)
        yield Static("", id="message", markup=False)
        yield Table(SCOUT_COLUMNS, key=lambda one: one.scout, empty="No scout is out yet.", id="scouts")
        yield self.make_table()

    def sets(self) -> tuple[DataSet, ...]:
        """What was found."""
        return self.row.search.sets

    def plan_path(self) -> Path:
        """In the search's run folder."""
        return Path(self.row.search.run_folder) / "plan.toml"

    def plan_name(self) -> str:
        """As the search."""
        return self.row.search.name

    def take(self, topic: str, record: tuple[DataWork, ...]) -> None:
        """Show it as it stands now."""
        found = (one for one in record if isinstance(one, SearchRow) and one.search.id == self.row.search.id)
        self.row = next(found, self.row)
        self.query_one("#scouts", Table).show(self.row.scouts)
        message = self.query_one("#message", Static)
        message.display = bool(self.row.search.message)
        message.update(plain_line(f"{self.row.search.state}: {self.row.search.message}", 300))
        self.table.show(self.sets())
        self.set_class(bool(self.sets()) and self.size.height < SCOUTS_FROM_LINES, "brief")
        self._show_title(self.console.records.get("engine"))

    def action_stop_work(self) -> None:
        """Stop it."""
        stop_work(self.console, self.row)

    def action_go_on(self) -> None:
        """Go on with it."""
        go_on(self.console, self.row)
