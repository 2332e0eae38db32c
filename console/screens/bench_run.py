"""One benchmark: how far it is, its comparison, what follows from it, and its speed while it runs."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from console.actions import bindings
from console.screens.bench_actions import export_bench, resume_bench, stop_bench
from console.screens.frame import FrameScreen
from state.outside_text import plain_line
from state.records.bench import BenchRow
from widgets import figures
from widgets.bench.columns import done_words, left_s, speed_now
from widgets.chart import Chart, ChartRecord, Series
from widgets.facts import Fact, Facts

if TYPE_CHECKING:
    from engine.bench.comparison import Comparison

COMPARISON = "comparison.json"
CHART_FROM_LINES = 30
"""Below so many lines the table needs the room."""
MOST_LINES = 6
"""A chart of more lines cannot be read."""
_STYLES = {
    "faster": "$success", "slower": "$warning", "void": "bold $error", "fault": "bold $error", "failed": "$error",
}  # fmt: skip


class BenchRunScreen(FrameScreen):
    """Reads the comparison that the worker has written last; nothing is reckoned here."""

    TITLE_TEXT = "Benchmark"
    BELONGS_TO = "Bench"
    PLACES = ("bench", "details")
    TOPICS = frozenset({"benches"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("bench"), *bindings("details")]
    DEFAULT_CSS = """
    BenchRunScreen {
        & Facts { height: auto; }
        & VerticalScroll { height: 1fr; border-top: solid $panel-lighten-1; padding: 0 1; }
        & Chart { height: 10; border-top: solid $panel-lighten-1; display: none; }
        &.charted Chart { display: block; }
    }
    """

    def __init__(self, row: BenchRow) -> None:
        super().__init__()
        self.row = row
        self._shown: tuple[int, int] = (0, 0)
        self._over_concurrency: ChartRecord | None = None

    def title_text(self) -> str:
        """Its name."""
        return plain_line(f"Benchmark {self.row.bench.name}", 100)

    def compose_body(self) -> ComposeResult:
        """Facts, the comparison, the speed."""
        yield Facts(id="facts")
        with VerticalScroll(id="scroll", can_focus=True):
            yield Static("", id="comparison", markup=False)
        yield Chart(id="chart")

    def on_mount(self) -> None:
        """The keys scroll the comparison."""
        self.query_one(VerticalScroll).focus()
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """The table takes as many columns as there is room for."""
        super().on_resize(event)
        self._draw()

    def take(self, topic: str, record: tuple[BenchRow, ...]) -> None:
        """Show it as it stands now."""
        self.row = next((row for row in record if row.bench.id == self.row.bench.id), self.row)
        self._draw()

    def redraw_ages(self) -> None:
        """Ages move on."""
        self.query_one(Facts).show(self.facts())

    def facts(self) -> tuple[Fact, ...]:
        """State, what it does now, what is left."""
        bench, progress = self.row.bench, self.row.progress
        facts: list[Fact] = [
            ("state", plain_line(f"{bench.state}  {bench.message}")),
            ("measured", f"{done_words(self.row)}, {bench.points} configurations"),
        ]
        if progress is not None and bench.state == "running":
            requests = f"{figures.count(progress.requests_done)} of {figures.count(progress.requests_total)} requests"
            failed = f", {figures.count(progress.failed)} failed" if progress.failed else ""
            now = f"{progress.cell}, {requests}{failed}, {figures.rate(speed_now(self.row))}"
            facts.append(("now", plain_line(now)))
            read = figures.age(time.time() - progress.taken_at)
            facts.append(("left", f"{figures.duration(left_s(self.row))}; read {read}"))
        return (*facts, ("run folder", plain_line(bench.run_folder)))

    def action_stop_bench(self) -> None:
        """Stop it."""
        stop_bench(self.console, self.row)

    def action_resume_bench(self) -> None:
        """Measure what is missing."""
        resume_bench(self.console, self.row)

    def action_export_bench(self) -> None:
        """Write the HTML report."""
        export_bench(self.console, self.row)

    def _draw(self) -> None:
        facts, pane = self.facts(), self.query_one(Facts)
        if pane.styles.height is None or pane.styles.height.value != len(facts):
            pane.styles.height = len(facts)
        pane.show(facts)
        self._show_comparison()
        chart = self._chart() if self.size.height >= CHART_FROM_LINES else None
        self.set_class(chart is not None, "charted")
        if chart is not None:
            self.query_one(Chart).show(chart)

    def _chart(self) -> ChartRecord | None:
        """Its speed while it runs; after that speed over concurrency, where more than one was measured."""
        if self.row.bench.state == "running" and self.row.speeds:
            speed = Series("tokens/s", self.row.speeds)
            return ChartRecord("Tokens a second, last 15 minutes", "tok/s", (speed,))
        return self._over_concurrency

    def _show_comparison(self) -> None:
        path = Path(self.row.bench.run_folder) / COMPARISON
        try:
            mark = (path.stat().st_mtime_ns, self.size.width)
        except OSError:
            self.query_one("#comparison", Static).update("Nothing is measured yet.")
            return
        if mark == self._shown or not self.size.width:
            return
        self._shown = mark
        try:
            comparison = read_comparison(path)
        except (OSError, msgspec.DecodeError, RecursionError) as error:
            said = Content.styled(plain_line(f"{path} cannot be read: {error}", 300), "$error")
            self.query_one("#comparison", Static).update(said)
            return
        self._over_concurrency = speeds_over_concurrency(comparison)
        content = comparison_content(comparison, max(40, self.size.width - 4))
        self.query_one("#comparison", Static).update(content)


def read_comparison(path: Path) -> "Comparison":
    """What the worker wrote last. Raises `OSError` or `msgspec.DecodeError`."""
    from engine.bench.comparison import Comparison

    return msgspec.json.decode(path.read_bytes(), type=Comparison)


def comparison_content(comparison: "Comparison", width: int) -> Content:
    """The table and its sentences, coloured by what they say."""
    from console.command_line.bench_views import comparison_lines

    return Content("\n").join([_styled(line) for line in comparison_lines(comparison, width)])


def speeds_over_concurrency(comparison: "Comparison") -> ChartRecord | None:
    """A line for each configuration; `None` where only one concurrency was measured."""
    lines: dict[str, list[tuple[float, float | None]]] = {}
    for row in comparison.rows:
        speed, concurrency = row.summary.tokens_per_s, row.summary.load.concurrency
        if speed is not None and concurrency is not None and not row.void:
            lines.setdefault(row.name, []).append((float(concurrency), speed.value))
    if not any(len(points) > 1 for points in lines.values()):
        return None
    series = tuple(Series(plain_line(name, 20), tuple(points)) for name, points in lines.items())
    return ChartRecord("Tokens a second by requests at once", "tok/s", series[:MOST_LINES], along="number")


def _styled(line: str) -> Content:
    words = set(line.replace(":", " ").replace(";", " ").split())
    style = next((style for word, style in _STYLES.items() if word in words), "")
    return Content.styled(line, style) if style else Content(line)
