"""A screen with one table: filter, open, and what its rows can be asked to do."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from console.actions import bindings
from console.screens.frame import FrameScreen
from widgets.table import Table


class ListingScreen(FrameScreen):
    """A subclass gives `make_table`, `rows`, and `open_record` where rows can be opened."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("lists"), *bindings("details")]
    LAUNCHES: ClassVar[str] = ""
    """Kind of recipe that starts what is listed here."""
    DEFAULT_CSS = """
    ListingScreen { & Input { height: 1; border: none; display: none; background: $boost; padding: 0 1; } }
    """

    def make_table(self) -> Table[Any]:
        """The table, with the id `table`."""
        raise NotImplementedError

    def rows(self, record: Any) -> Sequence[Any]:
        """Rows of a topic's record."""
        return tuple(record)

    def open_record(self, record: Any) -> None:
        """Show one row's details."""

    def action_launch_one(self) -> None:
        """Choose a recipe of that kind."""
        from console.screens.recipe_choice import RecipeChoiceScreen

        self.app.push_screen(RecipeChoiceScreen(self.LAUNCHES))

    @property
    def table(self) -> Table[Any]:
        """The table."""
        return self.query_one("#table", Table)

    def chosen(self) -> Any:
        """The row under the cursor; where there is none, that is said."""
        if self.table.selected is None:
            self.notify(self.table.empty_text(), markup=False)
        return self.table.selected

    def compose_body(self) -> ComposeResult:
        """The filter, hidden until it is asked for, and the table."""
        yield Input(placeholder="text to match; ! before it inverts; Esc ends", id="filter", compact=True)
        yield self.make_table()

    def on_mount(self) -> None:
        """The keys go to the table."""
        self.table.focus()

    def take(self, topic: str, record: Any) -> None:
        """Show new rows."""
        self.table.show(self.rows(record))

    def action_filter(self) -> None:
        """Type a filter."""
        entry = self.query_one("#filter", Input)
        entry.display = True
        self.set_focus(entry)  # at once: the next key may have been pressed already

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if event.input.id == "filter":
            self.table.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter, and give the keys back to the table."""
        event.input.display = bool(event.value)
        self.set_focus(self.table)

    def action_back(self) -> None:
        """End the filter, else go back to the overview."""
        entry = self.query_one("#filter", Input)
        if entry.display:
            entry.value = ""
            entry.display = False
            self.set_focus(self.table)
        elif len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        else:
            self.console.action_show("overview")

    def on_table_opened(self, event: Table.Opened) -> None:
        """Open a row."""
        self.open_record(event.record)
