"""A chart over minutes to days, for the screens of one GPU, one server, one regeneration."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

from state.database import open_database
from state.errors import StateError
from widgets.chart import Chart, ChartRecord

SPANS: tuple[tuple[str, float], ...] = (
    ("10 minutes", 600.0), ("1 hour", 3600.0), ("6 hours", 6 * 3600.0), ("1 day", 86400.0), ("7 days", 7 * 86400.0),
    ("30 days", 30 * 86400.0),
)  # fmt: skip
REFRESH_S = 5.0

ReadChart = Callable[[sqlite3.Connection, float, float, str], ChartRecord]
"""From a database, a span in seconds, the time now and the span's name to what is drawn."""


async def show_history(chart: Chart, path: str, span: tuple[str, float], read: ReadChart) -> None:
    """Read in a thread, and draw. A database that cannot be read leaves the last drawing."""

    def reading() -> ChartRecord | None:
        from pathlib import Path

        try:
            with closing(open_database(Path(path))) as database:
                return read(database, span[1], time.time(), span[0])
        except (sqlite3.Error, StateError):
            return None

    record = await asyncio.to_thread(reading)
    if record is not None and chart.is_mounted:
        chart.show(record)
