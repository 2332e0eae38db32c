"""Columns of the table of alerts."""

import time

from textual.content import Content

from state.records.alerts import Alert
from widgets import figures
from widgets.columns import Column

SIGNS = {"error": "!!", "warning": "! ", "info": "i "}
STYLES = {"error": "$error", "warning": "$warning", "info": "$text-muted"}


def severity_text(alert: Alert) -> Content:
    """Sign and word, in the severity's colour."""
    return Content.styled(f"{SIGNS[alert.severity]} {alert.severity}", STYLES[alert.severity])


def state_words(alert: Alert) -> str:
    """Whether it holds, was seen, or is over."""
    if alert.cleared_at is not None:
        return f"over after {figures.duration(alert.cleared_at - alert.since)}"
    return "seen" if alert.acknowledged_at is not None else "open"


ALERT_COLUMNS: tuple[Column[Alert], ...] = (
    Column("Severity", severity_text, 10, sort_key=lambda alert: alert.severity),
    Column("What", lambda alert: alert.title, 30, grows=True, sort_key=lambda alert: alert.title),
    Column("State", state_words, 22, priority=1, sort_key=state_words),
    Column("Since", lambda alert: time.strftime("%a %H:%M", time.localtime(alert.since)), 9, priority=2,
           sort_key=lambda alert: alert.since),
    Column("About", lambda alert: alert.subject, 22, priority=3, sort_key=lambda alert: alert.subject),
)  # fmt: skip
