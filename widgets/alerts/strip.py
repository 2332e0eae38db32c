"""What is wrong now, in at most three lines on top of the overview."""

from textual.content import Content

from state.records.alerts import Alert
from widgets.alerts.columns import SIGNS, STYLES
from widgets.line import Line
from widgets.pane import Pane

MOST_LINES = 3


class AlertStrip(Pane[tuple[Alert, ...]]):
    """A line for each open alert that nobody has acknowledged; no line where all is well."""

    DEFAULT_CSS = "AlertStrip { height: auto; }"

    def wanted_lines(self) -> int:
        """How many lines it needs."""
        return min(MOST_LINES, len(self._open()))

    def lines(self, width: int, height: int) -> list[Line]:
        """The gravest first; the last line says how many more there are."""
        alerts = self._open()
        shown = alerts if len(alerts) <= height else alerts[: max(0, height - 1)]
        lines: list[Line] = [_line(alert) for alert in shown]
        if len(shown) < len(alerts):
            lines.append(Content.styled(f" {len(alerts) - len(shown)} more alerts: press 7", "$warning"))
        return lines

    def _open(self) -> list[Alert]:
        return [alert for alert in self.record or () if alert.acknowledged_at is None]


def _line(alert: Alert) -> Content:
    cause = f": {alert.cause}" if alert.cause else ""
    return Content.assemble((f" {SIGNS[alert.severity]} {alert.title}", f"bold {STYLES[alert.severity]}"), cause)
