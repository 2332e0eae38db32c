"""All regenerations: pause, resume, ask failed samples again."""

from typing import Any, ClassVar

from textual.binding import BindingType

from console.actions import LAUNCHABLE, bindings
from console.screens.listing import ListingScreen
from console.screens.regeneration_actions import pause_run, resume_run, retry_failed
from state.records.views import RegenerationRow
from widgets.regeneration.columns import REGENERATION_COLUMNS
from widgets.table import Table


class RegenerationsScreen(ListingScreen):
    """Newest first."""

    TITLE_TEXT = "Regen"
    PLACES = ("regenerations", LAUNCHABLE, "lists")
    TOPICS = frozenset({"regenerations"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("regenerations"), *bindings(LAUNCHABLE)]
    LAUNCHES = "regen"

    def make_table(self) -> Table[Any]:
        """The table."""
        empty = "No regeneration yet. n: launch one; or: alula regen start prompts.jsonl --server URL"
        return Table(REGENERATION_COLUMNS, key=lambda row: row.run.id, empty=empty, id="table")

    def open_record(self, record: RegenerationRow) -> None:
        """Show one run."""
        from console.screens.regeneration import RegenerationScreen

        self.app.push_screen(RegenerationScreen(record))

    def action_pause_run(self) -> None:
        """Pause the run under the cursor."""
        pause_run(self.console, self.chosen())

    def action_resume_run(self) -> None:
        """Go on with it."""
        resume_run(self.console, self.chosen())

    def action_retry_failed(self) -> None:
        """Ask its failed samples again."""
        retry_failed(self.console, self.chosen())
