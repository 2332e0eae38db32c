"""How a worker tells how its run stands: into the state database, or where that is not at hand, into its run folder."""

import logging
import sqlite3
import time
from pathlib import Path
from typing import Protocol

import msgspec

from engine.regen.whole_file import write_whole
from state.alerts import clear_alert, raise_alert
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line
from state.records.regeneration import RegenerationDetail, RegenerationProgress, RegenerationState
from state.regenerations import by_folder, set_message, set_state, set_totals, write_detail, write_progress

REPORT = "report.json"
ALERT = "regeneration-paused"
log = logging.getLogger("regen")


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a worker has to say; the newest stands in `report.json` of its run folder."""

    state: RegenerationState = "running"
    message: str = ""
    total: int = 0
    rejected: int = 0
    progress: RegenerationProgress | None = None
    detail: RegenerationDetail | None = None
    alert: str = ""
    """Why it has paused itself."""


class Reporter(Protocol):
    """Where a worker's reports go. Nothing that fails here stops the run."""

    def tell(self, report: Report) -> None:
        """Pass it on; where that fails, log once."""


class DatabaseReporter:
    """For a worker on the engine's host."""

    def __init__(self, folder: Path) -> None:
        self._database: sqlite3.Connection | None = None
        self._folder = folder
        self._complained = False

    def tell(self, report: Report) -> None:
        """Write it into the state database."""
        try:
            if self._database is None:
                self._database = open_database(state_folder().database_path)
            apply_report(self._database, self._folder, report)
            self._complained = False
        except (sqlite3.Error, StateError, OSError) as error:
            self._database = None
            if not self._complained:
                log.error("cannot report progress: %s (the run goes on)", error)
            self._complained = True


class FolderReporter:
    """For a worker on another host: SQLite's file must not be written by two hosts. The engine reads what it leaves."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / REPORT
        self._last = Report()
        self._complained = False

    def tell(self, report: Report) -> None:
        """Put it in the place of the report before, whose figures stay where it has none."""
        last = self._last
        self._last = msgspec.structs.replace(
            report,
            total=report.total or last.total,
            rejected=report.rejected or last.rejected,
            progress=report.progress or last.progress,
            detail=report.detail or last.detail,
        )
        try:
            write_whole(self._path, [msgspec.json.encode(self._last)])
            self._complained = False
        except OSError as error:
            if not self._complained:
                log.error("cannot report progress: %s (the run goes on)", error)
            self._complained = True


def apply_report(database: sqlite3.Connection, folder: Path, report: Report) -> None:
    """Write a report into the state database, for the run of this folder if there is one."""
    run = by_folder(database, str(folder))
    if run is None:
        return
    if report.total:
        set_totals(database, run.id, report.total, report.rejected)
    if report.progress is not None:
        write_progress(database, msgspec.structs.replace(report.progress, run_id=run.id))
    if report.detail is not None:
        write_detail(database, msgspec.structs.replace(report.detail, run_id=run.id))
    message = plain_line(report.message, 500)
    if report.state == "running":
        set_message(database, run.id, message)
    else:
        set_state(database, run.id, report.state, message)
    subject = f"regeneration {run.name}"
    if report.alert:
        remedy = f"`alula regen status {run.name}` shows more; `alula regen resume {run.name}` goes on."
        raise_alert(
            database, rule=ALERT, subject=subject, severity="error", title=f"{subject} has paused itself",
            cause=plain_line(report.alert, 500), remedy=remedy, now=time.time(),
        )  # fmt: skip
    elif report.progress is None:
        clear_alert(database, ALERT, subject, time.time())
