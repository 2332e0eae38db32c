"""Reads a log for a view, in a thread: what is in sight first; searches, filters and counts lines in between."""

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path

from console.feed.log_window import LogWindow
from widgets.log_page import LogAsk, LogPage

POLL_S = 0.2
"""Between looks at a log that may have grown; the view draws no more often, however fast it grows."""
WORK_S = 0.02
"""Of background work before the next look at what is asked."""


class LogReader(threading.Thread):
    """Calls `tell` with a page whenever what is in sight has changed."""

    def __init__(self, path: Path, tell: Callable[[LogPage], None]) -> None:
        super().__init__(name="log", daemon=True)
        self._window = LogWindow(path)
        self._tell = tell
        self._asks: queue.SimpleQueue[LogAsk | None] = queue.SimpleQueue()

    def ask(self, ask: LogAsk) -> None:
        """Want other lines; from any thread."""
        self._asks.put(ask)

    def end(self) -> None:
        """Stop reading; from any thread."""
        self._asks.put(None)

    def run(self) -> None:
        """Read until ended. A log that is not there yet, or cannot be read, is looked at again."""
        told, due, busy = LogPage(), 0.0, True
        while True:
            asks = self._next_asks(0.0 if busy else max(0.0, due - time.monotonic()))
            if asks is None:
                break
            try:
                if asks or time.monotonic() >= due:
                    due = time.monotonic() + POLL_S
                    page = self._look(asks)
                    if page != told:
                        told = page
                        self._tell(page)
                hunted = self._window.hunting
                busy = self._window.work(WORK_S)
                due = 0.0 if hunted and not self._window.hunting else due
            except OSError:
                busy = False
        self._window.close()

    def _look(self, asks: list[LogAsk]) -> LogPage:
        self._window.refresh()
        for ask in asks:
            self._window.ask(ask)
        return self._window.page()

    def _next_asks(self, wait_s: float) -> list[LogAsk] | None:
        """All that was asked, waiting for the first; `None` at the end."""
        asks = []
        try:
            asks.append(self._asks.get(timeout=wait_s) if wait_s > 0 else self._asks.get_nowait())
            while True:
                asks.append(self._asks.get_nowait())
        except queue.Empty:
            pass
        return None if None in asks else [ask for ask in asks if ask is not None]
