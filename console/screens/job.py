"""One job: what it is, how it stands, its log as it grows."""

import shlex
import time
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from console.actions import bindings
from console.feed.log_tail import LogTail
from console.screens.frame import FrameScreen
from console.screens.job_actions import retry_job, stop_job
from state.outside_text import plain_line
from state.records.jobs import Job
from widgets import figures
from widgets.facts import Fact, Facts
from widgets.jobs.columns import state_text, took
from widgets.log_view import LogView


class JobScreen(FrameScreen):
    """Facts above, log below."""

    TITLE_TEXT = "Job"
    BELONGS_TO = "Jobs"
    PLACES = ("jobs", "log", "details")
    TOPICS = frozenset({"jobs"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("details"), *bindings("jobs"), *bindings("log")]
    DEFAULT_CSS = """
    JobScreen {
        & Facts { height: 5; }
        & LogView { height: 1fr; border-top: solid $panel-lighten-1; }
        & Input { height: 1; border: none; display: none; background: $boost; padding: 0 1; }
    }
    """

    class Grew(Message):
        """A piece of the log was read."""

        def __init__(self, text: str | None) -> None:
            super().__init__()
            self.text = text

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self._tail = LogTail(
            Path(job.run_folder) / "log.txt",
            self._tell,
            lambda: self._tell(None),
        )

    def compose_body(self) -> ComposeResult:
        """Facts, search, log."""
        yield Facts(id="facts")
        yield Input(placeholder="text to find", id="search")
        yield LogView(title="Log", id="log")

    def on_mount(self) -> None:
        """Read the log; the keys go to it."""
        self.query_one(LogView).focus()
        self._show_facts()
        self._tail.start()

    def on_unmount(self) -> None:
        """Stop reading."""
        self._tail.end()

    def title_text(self) -> str:
        """The job by number and name."""
        return plain_line(f"Job {self.job.id}  {self.job.name}", 120)

    def take(self, topic: str, record: Any) -> None:
        """Show this job as it stands now."""
        found = next((job for job in record if job.id == self.job.id), None)
        if found is not None:
            self.job = found
            self._show_facts()

    def redraw_ages(self) -> None:
        """The time that it has run moves on."""
        self._show_facts()

    def on_job_screen_grew(self, event: Grew) -> None:
        """Add to the log, or begin anew."""
        view = self.query_one(LogView)
        if event.text is None:
            view.clear()
        else:
            view.push(event.text)

    def action_search(self) -> None:
        """Type what to find."""
        entry = self.query_one("#search", Input)
        entry.display = True
        entry.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Find it, and give the keys back to the log."""
        if not self.query_one(LogView).search(event.value):
            self.notify(f"{plain_line(event.value, 60)!r} is not in the log", markup=False)
        event.input.display = False
        self.query_one(LogView).focus()

    async def action_back(self) -> None:
        """Close the search, else this screen."""
        entry = self.query_one("#search", Input)
        if entry.display:
            entry.display = False
            self.query_one(LogView).focus()
        else:
            self.app.pop_screen()

    def action_stop_job(self) -> None:
        """Stop it."""
        stop_job(self.console, self.job)

    def action_retry_job(self) -> None:
        """Run it again."""
        retry_job(self.console, self.job)

    def _tell(self, text: str | None) -> None:
        self.post_message(self.Grew(text))

    def _show_facts(self) -> None:
        job = self.job
        started = (
            time.strftime("%a %d %b %H:%M:%S", time.localtime(job.started_at)) if job.started_at else figures.ABSENT
        )
        reason = f"  {plain_line(job.reason, 200)}" if job.reason else ""
        facts: tuple[Fact, ...] = (
            ("state", state_text(job) + reason),
            ("time", f"{figures.duration(took(job))}, started {started}, pid {job.pid or figures.ABSENT}"),
            ("command", plain_line(shlex.join(job.argv))),
            ("in", plain_line(job.working_dir)),
            ("run folder", plain_line(job.run_folder)),
        )
        self.query_one(Facts).show(facts)
