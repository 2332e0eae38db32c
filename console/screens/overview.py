"""The first glance: what is wrong, the host, GPUs, servers, the regeneration, running jobs."""

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from console.actions import bindings
from console.screens.frame import FrameScreen
from state.records.jobs import Job
from state.records.views import RegenerationRow, ServerRow
from widgets.alerts.strip import AlertStrip
from widgets.gpus.list import GpuList
from widgets.host.strip import HostStrip
from widgets.jobs.columns import JOB_COLUMNS
from widgets.regeneration.pane import RegenerationPane
from widgets.servers.columns import SERVER_COLUMNS
from widgets.table import Table

FIXED_LINES = 3
"""Title, host, footer."""
LEFT_FOR_LISTS = 6
"""A server and a job, with their headings."""


class OverviewScreen(FrameScreen):
    """Everything at once, in as many lines as there are: lists give way before figures do."""

    TITLE_TEXT = "Overview"
    PLACES = ("lists",)
    TOPICS = frozenset({"alerts", "gpus", "host", "open_jobs", "regenerations", "servers"})
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("lists")]
    DEFAULT_CSS = """
    OverviewScreen {
        & #servers { height: 3; border-top: solid $panel-lighten-1; border-title-color: $text-muted; }
        & #jobs { height: 1fr; border-top: solid $panel-lighten-1; border-title-color: $text-muted; }
        & RegenerationPane { border-top: solid $panel-lighten-1; height: 4; }
        & GpuList { border-top: solid $panel-lighten-1; }
    }
    """

    def compose_body(self) -> ComposeResult:
        """From what is wrong to what is running."""
        yield AlertStrip(id="alerts")
        yield HostStrip(id="host")
        yield GpuList(id="gpus")
        yield RegenerationPane(id="regeneration")
        empty = "No server found. Press 3, then n to launch one, or: alula servers add URL"
        yield Table(SERVER_COLUMNS, key=lambda row: row.server.url, empty=empty, title="Servers", id="servers")
        empty = "Nothing runs. Press 4 for the past, then n to launch something."
        yield Table(JOB_COLUMNS, key=lambda job: job.id, empty=empty, title="Running jobs", id="jobs")

    def on_mount(self) -> None:
        """The keys go to the jobs."""
        self.query_one("#jobs").focus()
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        """Share the lines anew."""
        self._arrange()

    def take(self, topic: str, record: Any) -> None:
        """Show a record in its pane."""
        if topic == "regenerations":
            self._show_regeneration(record)
        else:
            self.query_one(f"#{'jobs' if topic == 'open_jobs' else topic}", _PANES[topic]).show(record)
        self._arrange()

    def action_filter(self) -> None:
        """Rows are filtered where all of them are: on the jobs screen."""
        self.console.action_show("jobs")

    def on_table_opened(self, event: Table.Opened) -> None:
        """Go to what the row stands for."""
        if isinstance(event.record, Job):
            from console.screens.job import JobScreen

            self.app.push_screen(JobScreen(event.record))
        elif isinstance(event.record, ServerRow):
            from console.screens.server import ServerScreen

            self.app.push_screen(ServerScreen(event.record))

    def _show_regeneration(self, rows: tuple[RegenerationRow, ...]) -> None:
        running = [row for row in rows if row.run.state == "running"]
        chosen = (running or list(rows[:1]))[:1]
        pane = self.query_one(RegenerationPane)
        if chosen:
            pane.show(chosen[0])

    def _arrange(self) -> None:
        """Heights: alerts and host always, then GPUs, the regeneration, servers; jobs take what is left."""
        left = self.size.height - FIXED_LINES
        alerts = self.query_one(AlertStrip)
        left -= _set_height(alerts, min(alerts.wanted_lines(), max(0, left)))
        gpus = self.query_one(GpuList)
        most = left - LEFT_FOR_LISTS if left > 9 else min(2, left)
        left -= _set_height(gpus, min(gpus.wanted_lines(self.size.width, most - 1) + 1, max(0, most)))
        left -= _set_height(self.query_one(RegenerationPane), 4 if left >= 8 else 0)
        servers = self.query_one("#servers", Table)
        _set_height(servers, min(2 + max(1, len(servers.rows)), max(3, left // 2)) if left >= 6 else 0)


def _set_height(widget: Any, lines: int) -> int:
    if widget.styles.height is None or widget.styles.height.value != lines or widget.display != (lines > 0):
        widget.styles.height = lines
        widget.display = lines > 0
    return lines


_PANES: dict[str, Any] = {
    "alerts": AlertStrip, "gpus": GpuList, "host": HostStrip, "open_jobs": Table, "servers": Table,
}  # fmt: skip
