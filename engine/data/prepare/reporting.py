"""Tells the state database how a preparation stands. A database that cannot be written never stops the work."""

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from state.data import preparation_of, update_preparation
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line

REPORT_S = 1.0
log = logging.getLogger("data")


class Reporter:
    """Writes at most once a second, but never loses a change of stage or state."""

    def __init__(self, work_folder: Path | None, say: Callable[[str], None] = log.info) -> None:
        """`None` tells the database nothing."""
        self._folder = work_folder
        self._say = say
        self._database: sqlite3.Connection | None = None
        self._id = 0
        self._last = 0.0
        self._started = time.monotonic()
        self._stage = ""

    def stage(self, stage: str, **changes: Any) -> None:
        """A new stage."""
        if stage != self._stage:
            self._say(stage)
            self._stage = stage
            self._write(stage=plain_line(stage, 200), **changes)

    def rows(self, rows: int, made_rows: int, **changes: Any) -> None:
        """Rows read in all, and those of them that were read by this process."""
        if time.monotonic() - self._last >= REPORT_S:
            self._say(f"{rows} rows")
            seconds = time.monotonic() - self._started
            self._write(rows_read=rows, rows_per_s=made_rows / seconds if seconds > 0 else None, **changes)

    def ended(self, state: str, message: str = "", **changes: Any) -> None:
        """It is done, stopped or failed."""
        self._say(f"{state} {message}")
        self._write(state=state, message=plain_line(message, 500), ended_at=time.time(), **changes)

    def close(self) -> None:
        """Let go of the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _write(self, **changes: Any) -> None:
        self._last = time.monotonic()
        if self._folder is None:
            return
        try:
            if self._database is None:
                self._database = open_database(state_folder().database_path)
                found = preparation_of(self._database, str(self._folder))
                self._id = found.id if found else 0
            if self._id:
                update_preparation(self._database, self._id, updated_at=time.time(), **changes)
        except (sqlite3.Error, StateError, OSError) as error:
            log.error("cannot report progress: %s (the work goes on)", error)
            with contextlib.suppress(sqlite3.Error):
                self.close()
            self._database = None
