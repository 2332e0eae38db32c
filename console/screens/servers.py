"""All servers that are watched."""

from typing import Any, ClassVar

from textual.binding import BindingType

from console.actions import LAUNCHABLE, bindings
from console.screens.listing import ListingScreen
from state.records.views import ServerRow
from widgets.servers.columns import SERVER_COLUMNS
from widgets.table import Table


class ServersScreen(ListingScreen):
    """One row for each server."""

    TITLE_TEXT = "Servers"
    PLACES = (LAUNCHABLE, "lists")
    TOPICS = frozenset({"servers"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LAUNCHABLE)]
    LAUNCHES = "serve"

    def make_table(self) -> Table[Any]:
        """The table."""
        empty = "No server found on this host. n: launch one; or add one by URL: alula servers add http://HOST:PORT"
        return Table(SERVER_COLUMNS, key=lambda row: row.server.url, empty=empty, id="table")

    def open_record(self, record: ServerRow) -> None:
        """Show one server over time."""
        from console.screens.server import ServerScreen

        self.app.push_screen(ServerScreen(record))
