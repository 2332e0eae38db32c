"""All jobs, those that run and those that ended."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.binding import BindingType

from console.actions import bindings
from console.screens.job_actions import retry_job, stop_job
from console.screens.listing import ListingScreen
from state.records.jobs import Job
from widgets.jobs.columns import JOB_COLUMNS
from widgets.table import Table


class JobsScreen(ListingScreen):
    """Newest first."""

    TITLE_TEXT = "Jobs"
    PLACES = ("jobs", "lists")
    TOPICS = frozenset({"jobs"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("jobs")]

    def make_table(self) -> Table[Any]:
        """The table."""
        empty = "No job yet. Start one: alula jobs launch -- COMMAND"
        return Table(JOB_COLUMNS, key=lambda job: job.id, empty=empty, id="table")

    def rows(self, record: Any) -> Sequence[Any]:
        """The jobs as they were read."""
        return tuple(record)

    def open_record(self, record: Job) -> None:
        """Show a job with its log."""
        from console.screens.job import JobScreen

        self.app.push_screen(JobScreen(record))

    def action_stop_job(self) -> None:
        """Stop the job under the cursor."""
        stop_job(self.console, self.table.selected)

    def action_retry_job(self) -> None:
        """Run the job under the cursor again."""
        retry_job(self.console, self.table.selected)
