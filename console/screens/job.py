"""One job: what it is, how it stands, its log as it grows."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Input

from console.actions import bindings
from console.feed.log_reader import LogReader
from console.screens.checkpoint_benchmark import benchmark_checkpoint
from console.screens.frame import FrameScreen
from console.screens.job_actions import change_job, compare_job, retry_job, stop_job
from console.screens.job_facts import all_facts, few_facts
from console.screens.job_metrics import JobMetrics
from engine.jobs.recipes.catalogue import load_catalogue
from engine.jobs.recipes.log_patterns import patterns_of, units_of
from engine.jobs.recipes.records import Recipe
from state.database import open_database
from state.errors import StateError
from state.jobs import read_events
from state.outside_text import plain_line
from state.records.jobs import Job, JobEvent
from widgets.facts import Facts
from widgets.log_page import LogAsk, LogPage
from widgets.log_view import LogView


class JobScreen(FrameScreen):
    """Facts above, log below."""

    TITLE_TEXT = "Job"
    BELONGS_TO = "Jobs"
    PLACES = ("job", "jobs", "log", "details")
    TOPICS = frozenset({"jobs"})
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("details"),
        *bindings("job"),
        *bindings("jobs"),
        *bindings("log"),
        Binding("M", "metric(-1)", "Metric before", show=False),
    ]
    DEFAULT_CSS = """
    JobScreen {
        & #all { height: 5; scrollbar-size-vertical: 1; }
        & JobMetrics { height: 2fr; min-height: 9; border-top: solid $panel-lighten-1; border-title-color: $text-muted;
            display: none; }
        &.whole JobMetrics { height: 0; min-height: 0; border-top: none; }
        & LogView { height: 3fr; border-top: solid $panel-lighten-1; border-title-color: $text-muted; }
        & Input { height: 1; border: none; display: none; background: $boost; padding: 0 1; }
    }
    """

    class Turned(Message):
        """Another page of the log was read."""

        def __init__(self, page: LogPage) -> None:
            super().__init__()
            self.page = page

        def can_replace(self, message: Message) -> bool:
            """Only the newest page counts."""
            return isinstance(message, JobScreen.Turned)

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self._whole = False
        self._events: tuple[JobEvent, ...] = ()
        self._log = LogReader(Path(job.run_folder) / "log.txt", self._tell)

    def compose_body(self) -> ComposeResult:
        """Facts, search, log."""
        with VerticalScroll(id="all", can_focus=False):
            yield Facts(id="facts")
        yield Input(placeholder="text to find", id="search")
        yield Input(placeholder="text of the lines to show; ! before it: of those to leave out", id="filter")
        yield JobMetrics(Path(self.job.run_folder) / "log.txt", id="metrics")
        yield LogView(title="Log", id="log")

    def on_mount(self) -> None:
        """Read the log; the keys go to it."""
        self.query_one(LogView).focus()
        self._show_facts()
        self._log.start()
        self.run_worker(self._start_metrics(), group="recipe")

    def on_unmount(self) -> None:
        """Stop reading."""
        self._log.end()

    def title_text(self) -> str:
        """The job by number and name."""
        return plain_line(f"Job {self.job.id}  {self.job.name}", 120)

    def take(self, topic: str, record: Any) -> None:
        """Show this job as it stands now."""
        found = next((job for job in record if job.id == self.job.id), None)
        if found is not None:
            self.job = found
            self._show_facts()
            if self._whole:
                self.run_worker(self._read_events(), exclusive=True, group="events")

    def redraw_ages(self) -> None:
        """The time that it has run moves on."""
        self._show_facts()

    def on_job_screen_turned(self, event: Turned) -> None:
        """Show the page."""
        self.query_one(LogView).show(event.page)

    def on_log_view_asked(self, event: LogView.Asked) -> None:
        """Read what the reader wants to see."""
        self._log.ask(event.ask)

    def action_search(self) -> None:
        """Type what to find."""
        self._open_entry("search")

    def action_filter_log(self) -> None:
        """Type which lines to show."""
        self._open_entry("filter")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Find or filter, and give the keys back to the log."""
        self._log.ask(LogAsk("filter" if event.input.id == "filter" else "search", text=event.value))
        self._close_entries()

    async def action_back(self) -> None:
        """Close the search or the filter, else this screen."""
        if not self._close_entries():
            self.app.pop_screen()

    def _open_entry(self, name: str) -> None:
        self._close_entries()
        entry = self.query_one(f"#{name}", Input)
        entry.display = True
        self.set_focus(entry)  # at once: the next key may have been pressed already

    def _close_entries(self) -> bool:
        """Gives whether one was open."""
        opened = [entry for entry in self.query(Input) if entry.display]
        for entry in opened:
            entry.display = False
        if opened:
            self.set_focus(self.query_one(LogView))
        return bool(opened)

    def action_whole(self) -> None:
        """Everything about it, or the few facts."""
        self._whole = not self._whole
        self.set_class(self._whole, "whole")
        area = self.query_one("#all")
        area.styles.height = "60%" if self._whole else 5
        area.can_focus = self._whole
        self._show_facts()
        (area if self._whole else self.query_one(LogView)).focus()
        self.run_worker(self._read_events(), exclusive=True, group="events")

    def action_metric(self, step: int = 1) -> None:
        """Chart another figure of the log, or none."""
        self.query_one(JobMetrics).switch(step)

    def action_zoom(self) -> None:
        """Chart the newest values, or all."""
        self.query_one(JobMetrics).zoom()

    def action_change_job(self) -> None:
        """Launch it again with other parameters."""
        change_job(self.console, self.job)

    def action_compare_job(self) -> None:
        """Put it beside the one before it."""
        compare_job(self.console, self.job, self.console.records.get("jobs", ()), None)

    def action_stop_job(self) -> None:
        """Stop it."""
        stop_job(self.console, self.job)

    def action_retry_job(self) -> None:
        """Run it again."""
        retry_job(self.console, self.job)

    async def action_benchmark_checkpoint(self) -> None:
        """Measure what it has trained."""
        await benchmark_checkpoint(self.console, self.job)

    async def _start_metrics(self) -> None:
        recipe = await asyncio.to_thread(self._recipe)
        self.query_one(JobMetrics).start(patterns_of(recipe), units_of(recipe))

    def _recipe(self) -> Recipe | None:
        return load_catalogue().recipes.get(self.job.recipe) if self.job.recipe is not None else None

    def _tell(self, page: LogPage) -> None:
        self.post_message(self.Turned(page))

    def _show_facts(self) -> None:
        facts = all_facts(self.job, self._events) if self._whole else few_facts(self.job)
        pane = self.query_one(Facts)
        pane.styles.height = len(facts)
        pane.show(facts)

    async def _read_events(self) -> None:
        def reading() -> tuple[JobEvent, ...]:
            with closing(open_database(self.console.folder.database_path)) as database:
                return tuple(read_events(database, self.job.id))

        try:
            self._events = await asyncio.to_thread(reading)
        except (sqlite3.Error, StateError):
            return  # the feed says so
        self._show_facts()
