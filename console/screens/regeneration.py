"""One regeneration: what it asks, how far it is, servers, sources, what failed, its speed over time."""

import sqlite3
import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from console.actions import bindings
from console.screens.charted import ChartedScreen
from console.screens.regeneration_actions import (
    add_server,
    pause_run,
    remove_server,
    resume_run,
    retry_failed,
    set_concurrency,
)
from engine.regen.remedies import FAILURE_REMEDIES
from state.outside_text import plain_line
from state.records.regeneration import Regeneration, RegenerationProgress
from state.records.views import RegenerationRow
from state.regenerations import progress_history
from widgets import figures
from widgets.chart import Chart, ChartRecord, Series
from widgets.facts import Fact, Facts
from widgets.regeneration.detail import detail_lines
from widgets.regeneration.pane import eta_words

CHART_LINES = 9


def at_once(row: RegenerationRow) -> str:
    """How many requests a run sends at once, in words."""
    run: Regeneration = row.run
    if row.detail is None or run.state != "running":
        return f"{figures.count(run.concurrency)} at once" if run.concurrency else "as many at once as pay"
    return f"{figures.count(row.detail.concurrency)} at once on all servers (c changes it)"


def _done_words(run: Regeneration, progress: RegenerationProgress) -> str:
    words = [
        f"{figures.count(progress.done)} of {figures.count(run.total)}",
        f"{figures.count(progress.failed)} failed",
        f"{figures.count(progress.in_flight)} in flight",
        f"{figures.count(progress.completion_tokens)} tokens",
        *([f"{figures.count(run.rejected)} input records rejected"] if run.rejected else []),
    ]
    return ", ".join(words)


def _speed_words(progress: RegenerationProgress) -> str:
    speeds = (
        (progress.tokens_per_s_now, "now"),
        (progress.tokens_per_s_5m, "in 5 min"),
        (progress.tokens_per_s_overall, "overall"),
    )
    return ", ".join(f"{figures.rate(speed)} {when}" for speed, when in speeds if speed is not None) or figures.ABSENT


class RegenerationScreen(ChartedScreen):
    """Facts above; what the worker told of its parts scrolls, with tokens a second below."""

    TITLE_TEXT = "Regeneration"
    BELONGS_TO = "Regen"
    PLACES = ("regenerations", "regeneration", "charts", "details")
    TOPICS = frozenset({"regenerations"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("regenerations"), *bindings("regeneration")]
    DEFAULT_CSS = """
    RegenerationScreen {
        & VerticalScroll { height: 1fr; border-top: solid $panel-lighten-1; scrollbar-size-vertical: 1; }
        & Static { height: auto; }
        & Chart { height: 9; min-height: 9; }
    }
    """

    def __init__(self, row: RegenerationRow) -> None:
        super().__init__()
        self.row = row

    def compose_body(self) -> ComposeResult:
        """Facts, the parts, the chart."""
        yield Facts(id="facts")
        with VerticalScroll(id="scroll"):
            yield Static("", id="parts", markup=False)
            yield Chart(id="chart")

    def on_mount(self) -> None:
        """The keys scroll."""
        super().on_mount()
        self.query_one(VerticalScroll).focus()

    def on_resize(self, event: events.Resize) -> None:
        """Lines are as long as there is room."""
        super().on_resize(event)
        self.call_after_refresh(self.show_facts)

    def title_text(self) -> str:
        """Its name."""
        return plain_line(f"Regeneration {self.row.run.name}", 100)

    def take(self, topic: str, record: tuple[RegenerationRow, ...]) -> None:
        """Show this run as it stands now."""
        self.row = next((row for row in record if row.run.id == self.row.run.id), self.row)
        self.show_facts()

    def show_facts(self) -> None:
        """Facts and parts anew; the chart takes what room is left."""
        super().show_facts()
        lines = detail_lines(self.row, FAILURE_REMEDIES, max(40, self.size.width - 2))
        self.query_one("#parts", Static).update(Content("\n").join(lines))
        room = self.query_one(VerticalScroll).size.height - len(lines)
        self.query_one(Chart).styles.height = max(CHART_LINES, room)

    def facts(self) -> tuple[Fact, ...]:
        """What it asks and how it goes."""
        run, progress = self.row.run, self.row.progress
        sampling = "  ".join(f"{key}={value}" for key, value in run.sampling.items())
        facts: list[Fact] = [
            ("state", plain_line(f"{run.state}{self._age()}  {run.message}")),
            ("asks", plain_line(f"{run.model or figures.ABSENT}  {at_once(self.row)}  {sampling}")),
            ("inputs", plain_line(", ".join(run.inputs))),
            ("run folder", plain_line(run.run_folder)),
        ]
        if progress is None:
            return tuple(facts)
        facts += [("done", _done_words(run, progress)), ("speed", _speed_words(progress))]
        if run.state == "running":
            facts.append(("time left", eta_words(progress).removeprefix("time ").removeprefix("left ")))
            moved = self.row.detail.moved if self.row.detail else ""
            facts.append(("why it moved", plain_line(moved or "it has not, in the last ten minutes")))
        return tuple(facts)

    def _age(self) -> str:
        progress = self.row.progress
        if progress is None or self.row.run.state != "running":
            return ""
        return f", read {figures.age(time.time() - progress.taken_at)}"

    def read_chart(self, database: sqlite3.Connection, span_s: float, now: float, name: str) -> ChartRecord:
        """Tokens a second."""
        points = self.row.speeds  # of a fleet: all shards together, the last minutes
        if self.row.run.id > 0:
            history = progress_history(database, self.row.run.id, now - span_s)
            points = tuple((one.taken_at, one.tokens_per_s_now) for one in history)
        speed = Series("tokens/s", points)
        return ChartRecord(f"Tokens a second, last {name}", "tok/s", (speed,))

    def action_pause_run(self) -> None:
        """Pause it."""
        pause_run(self.console, self.row)

    def action_resume_run(self) -> None:
        """Go on with it."""
        resume_run(self.console, self.row)

    def action_retry_failed(self) -> None:
        """Ask its failed samples again."""
        retry_failed(self.console, self.row)

    def action_set_concurrency(self) -> None:
        """Another number of requests at once."""
        set_concurrency(self.console, self.row)

    def action_add_server(self) -> None:
        """Ask another server too."""
        add_server(self.console, self.row)

    def action_remove_server(self) -> None:
        """Ask a server nothing more."""
        remove_server(self.console, self.row)
