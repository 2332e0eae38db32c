"""One regeneration: what it asks, how far it is, what failed, its speed over time."""

import sqlite3
import time
from typing import ClassVar

from textual.binding import BindingType

from console.actions import bindings
from console.screens.charted import ChartedScreen
from console.screens.regeneration_actions import pause_run, resume_run, retry_failed
from state.outside_text import plain_line
from state.records.regeneration import Regeneration
from state.records.views import RegenerationRow
from state.regenerations import progress_history
from widgets import figures
from widgets.chart import ChartRecord, Series
from widgets.facts import Fact
from widgets.regeneration.pane import eta_words


def at_once(run: Regeneration) -> str:
    """How many requests a run sends at once, in words."""
    return figures.count(run.concurrency) if run.concurrency else "as many as pay"


class RegenerationScreen(ChartedScreen):
    """Tokens a second over time."""

    TITLE_TEXT = "Regeneration"
    BELONGS_TO = "Regen"
    PLACES = ("regenerations", "charts", "details")
    TOPICS = frozenset({"regenerations"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("regenerations")]

    def __init__(self, row: RegenerationRow) -> None:
        super().__init__()
        self.row = row

    def title_text(self) -> str:
        """Its name."""
        return plain_line(f"Regeneration {self.row.run.name}", 100)

    def take(self, topic: str, record: tuple[RegenerationRow, ...]) -> None:
        """Show this run as it stands now."""
        self.row = next((row for row in record if row.run.id == self.row.run.id), self.row)
        self.show_facts()

    def facts(self) -> tuple[Fact, ...]:
        """What it asks and how it goes."""
        run, progress = self.row.run, self.row.progress
        facts: list[Fact] = [
            ("state", plain_line(f"{run.state}  {run.message}")),
            ("asks", plain_line(f"{run.model or figures.ABSENT} at {run.server_url}, {at_once(run)} at once")),
            ("inputs", plain_line(", ".join(run.inputs))),
            ("sampling", plain_line("  ".join(f"{key}={value}" for key, value in run.sampling.items()))),
            ("run folder", plain_line(run.run_folder)),
        ]
        if progress is None:
            return tuple(facts)
        done = f"{figures.count(progress.done)} of {figures.count(run.total)}"
        rest = f"{figures.count(progress.in_flight)} in flight, {figures.count(run.rejected)} input records rejected"
        facts.append(("done", f"{done}, {rest}"))
        speed = f"{figures.rate(progress.tokens_per_s_now)} now, {figures.rate(progress.tokens_per_s_overall)} overall"
        facts.append(("speed", f"{speed}, {figures.count(progress.completion_tokens)} tokens in all"))
        if run.state == "running":
            facts.append(("time", f"{eta_words(progress)}; read {figures.age(time.time() - progress.taken_at)}"))
        for kind, count in sorted(progress.failed_by_kind.items()):
            facts.append(("failed", plain_line(f"! {figures.count(count)} {kind}: press f to ask them again")))
        return tuple(facts)

    def read_chart(self, database: sqlite3.Connection, span_s: float, now: float, name: str) -> ChartRecord:
        """Tokens a second."""
        history = progress_history(database, self.row.run.id, now - span_s)
        speed = Series("tokens/s", tuple((one.taken_at, one.tokens_per_s_now) for one in history))
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
