"""The queue in one line: how many run and wait, and whether it is paused."""

import time

from textual.content import Content

from state.records.views import QueueView
from widgets import figures
from widgets.line import Line
from widgets.pane import Pane


class QueueStrip(Pane[QueueView]):
    """Above the table of jobs."""

    DEFAULT_CSS = "QueueStrip { height: 1; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """One line."""
        return [queue_words(self.record, time.time())] if self.record is not None else []


def queue_words(view: QueueView, now: float) -> Content:
    """The line; what is out of the ordinary comes first."""
    counts = f"{view.running} run, {view.waiting} wait"
    if view.paused_at is None:
        return Content.styled(f" Queue: {counts}", "$text-muted")
    since = figures.duration(max(0.0, now - view.paused_at))
    by = f" by {view.paused_by}" if view.paused_by else ""
    running = f"{view.running} still run" if view.running else "nothing runs"
    words = f" ! Queue paused{by} {since} ago, P starts it again: {running}, {view.waiting} wait"
    return Content.styled(words, "bold $warning")
