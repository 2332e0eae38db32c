"""Training data: searches of the hub and preparations, the newest first."""

from typing import Any, ClassVar

from textual.binding import BindingType

from console.actions import bindings
from console.screens.data_actions import go_on, new_search, stop_work
from console.screens.listing import ListingScreen
from state.records.data import DataWork, SearchRow
from widgets.data.columns import WORK_COLUMNS, kind_of
from widgets.table import Table

EMPTY = "No search yet. n: send ten scouts to the hub; c: ten known sets; o: open plan"


def identity(work: DataWork) -> tuple[str, int]:
    """What tells that a row is the same thing as before."""
    return kind_of(work), work.search.id if isinstance(work, SearchRow) else work.id


class DataScreen(ListingScreen):
    """Enter opens one: a search's scouts and table, a preparation's funnel."""

    TITLE_TEXT = "Data"
    PLACES = ("data", "data work", "lists")
    TOPICS = frozenset({"data"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("data"), *bindings("data work")]

    def make_table(self) -> Table[Any]:
        """The table."""
        return Table(WORK_COLUMNS, key=identity, empty=EMPTY, id="table")

    def open_record(self, record: DataWork) -> None:
        """Show one."""
        from console.screens.data_preparation import PreparationScreen
        from console.screens.data_search import SearchScreen

        self.app.push_screen(SearchScreen(record) if isinstance(record, SearchRow) else PreparationScreen(record))

    def action_new_search(self) -> None:
        """Send the scouts out."""
        new_search(self.console)

    def action_stop_work(self) -> None:
        """Stop the one under the cursor."""
        stop_work(self.console, self.chosen())

    def action_go_on(self) -> None:
        """Go on with it."""
        go_on(self.console, self.chosen())

    def action_show_catalogue(self) -> None:
        """The ten sets that come with Alula."""
        from console.screens.data_search import CatalogueScreen

        self.app.push_screen(CatalogueScreen())

    def action_open_plan(self) -> None:
        """Choose a plan to change or run."""
        from console.screens.data_plan import choose_plan

        choose_plan(self.console)
