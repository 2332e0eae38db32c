"""All jobs, those that run and those that ended."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from console.actions import bindings
from console.screens.job_actions import change_job, compare_job, retry_job, stop_job
from console.screens.listing import ListingScreen
from console.screens.queue_actions import drain, pause_or_resume
from state.records.jobs import Job
from widgets.jobs.columns import JOB_COLUMNS
from widgets.jobs.groups import GROUP_COLUMNS, GROUPINGS, Grouping, JobGroup, group_of, grouped
from widgets.jobs.queue_strip import QueueStrip
from widgets.table import Table


class JobsScreen(ListingScreen):
    """Newest first; groups above, where they are asked for."""

    TITLE_TEXT = "Jobs"
    PLACES = ("job list", "jobs", "lists")
    TOPICS = frozenset({"jobs", "queue"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("job list"), *bindings("jobs")]
    DEFAULT_CSS = """
    JobsScreen { & #groups { height: 30%; min-height: 4; display: none; border-bottom: solid $panel-lighten-1; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._marked: int | None = None
        self._grouping: Grouping | None = None
        self._group: JobGroup | None = None

    def compose_body(self) -> ComposeResult:
        """Groups, filter, jobs."""
        empty = "No job yet."
        yield QueueStrip(id="queue")
        yield Table(GROUP_COLUMNS, key=lambda one: (one.grouping, one.name), empty=empty, id="groups")
        yield from super().compose_body()

    def make_table(self) -> Table[Any]:
        """The table."""
        empty = "No job yet. Press n, or: alula jobs launch -- COMMAND"
        return Table(JOB_COLUMNS, key=lambda job: job.id, empty=empty, id="table")

    def rows(self, record: Any) -> Sequence[Any]:
        """The jobs as they were read, or those of one group."""
        group = self._group
        if group is None:
            return tuple(record)
        return tuple(job for job in record if group_of(job, group.grouping) == group.name)

    def take(self, topic: str, record: Any) -> None:
        """Show new rows, and count groups anew where they are shown."""
        if topic == "queue":
            self.query_one(QueueStrip).show(record)
            return
        super().take(topic, record)
        if self._grouping is not None:
            self.query_one("#groups", Table).show(grouped(record, self._grouping))

    def title_text(self) -> str:
        """The group, where only one is shown."""
        return self.TITLE_TEXT if self._group is None else f"{self._group.grouping} {self._group.name}"

    def open_record(self, record: Job) -> None:
        """Show a job with its log."""
        from console.screens.job import JobScreen

        self.app.push_screen(JobScreen(record))

    def on_table_opened(self, event: Table.Opened) -> None:
        """Open a job, or narrow the list to a group."""
        event.prevent_default()  # a class's own handler runs after this one
        if event.table.id != "groups":
            self.open_record(event.record)
            return
        self._group = event.record
        self.show_everything()
        self.table.focus()

    def action_back(self) -> None:
        """End the group, the groups, the filter; else go back."""
        if self._group is not None:
            self._group = None
            self.show_everything()
        elif self._grouping is not None:
            self._show_groups(None)
        else:
            super().action_back()

    def action_groups(self) -> None:
        """Group by the next thing; after the last one not at all."""
        following = [*GROUPINGS, None]
        self._group = None
        self._show_groups(following[following.index(self._grouping) + 1] if self._grouping else GROUPINGS[0])

    def action_pause_queue(self) -> None:
        """Start no more jobs, or let them start again."""
        pause_or_resume(self.console)

    def action_drain_queue(self) -> None:
        """Start no more jobs, to wait until none runs (asks)."""
        drain(self.console)

    def action_new_job(self) -> None:
        """Choose a recipe."""
        from console.screens.recipe_choice import RecipeChoiceScreen

        self.app.push_screen(RecipeChoiceScreen())

    def action_mark(self) -> None:
        """Keep the job under the cursor in mind, to be compared with."""
        if (job := self.table.selected) is not None:
            self._marked = job.id
            self.notify(f"job {job.id} is marked: c compares another one with it", markup=False)

    def action_compare_job(self) -> None:
        """Put the job under the cursor beside another one."""
        compare_job(self.console, self.chosen(), self.console.records.get("jobs", ()), self._marked)

    def action_change_job(self) -> None:
        """Launch the job under the cursor again with other parameters."""
        change_job(self.console, self.chosen())

    def action_stop_job(self) -> None:
        """Stop the job under the cursor."""
        stop_job(self.console, self.chosen())

    def action_retry_job(self) -> None:
        """Run the job under the cursor again."""
        retry_job(self.console, self.chosen())

    def _show_groups(self, grouping: Grouping | None) -> None:
        self._grouping = grouping
        table = self.query_one("#groups", Table)
        table.display = grouping is not None
        self.show_everything()
        (self.table if grouping is None else table).focus()
