"""A screen of one thing: facts, events or processes, and a chart of its past."""

import sqlite3
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from console.actions import bindings
from console.screens.frame import FrameScreen
from console.screens.history import REFRESH_S, SPANS, show_history
from widgets.chart import Chart, ChartRecord
from widgets.facts import Fact, Facts


class ChartedScreen(FrameScreen):
    """A subclass gives `facts` and `read_chart`."""

    PLACES: ClassVar[tuple[str, ...]] = ("charts", "details")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("details"), *bindings("charts")]
    DEFAULT_CSS = """
    ChartedScreen {
        & Facts { height: auto; max-height: 50%; }
        & Chart { height: 1fr; min-height: 6; border-top: solid $panel-lighten-1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._span = 0

    def facts(self) -> tuple[Fact, ...]:
        """What is written above the chart."""
        raise NotImplementedError

    def read_chart(self, database: sqlite3.Connection, span_s: float, now: float, name: str) -> ChartRecord:
        """What is drawn; called in a thread."""
        raise NotImplementedError

    def compose_body(self) -> ComposeResult:
        """Facts, then the chart."""
        yield Facts(id="facts")
        yield Chart(id="chart")

    def on_mount(self) -> None:
        """Draw now, and every few seconds."""
        self.show_facts()
        self.set_interval(REFRESH_S, self._draw)
        self.call_after_refresh(self._draw)

    def show_facts(self) -> None:
        """Write the facts anew."""
        facts = self.facts()
        pane = self.query_one(Facts)
        if pane.styles.height is None or pane.styles.height.value != len(facts):
            pane.styles.height = len(facts)
        pane.show(facts)

    def redraw_ages(self) -> None:
        """Ages move on."""
        self.show_facts()

    def action_span(self) -> None:
        """Take the next time span."""
        self._span = (self._span + 1) % len(SPANS)
        self.run_worker(self._draw(), exclusive=True)

    async def _draw(self) -> Any:
        chart = self.query_one(Chart)
        await show_history(chart, str(self.console.folder.database_path), SPANS[self._span], self.read_chart)
