"""How a job's end goes into the database: by the engine, or by the runner itself where no engine lives."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from engine.jobs.follow_up import wants_follow_up
from engine.jobs.log_end import last_lines
from engine.jobs.outcome import outcome
from engine.jobs.run_folder import ExitFile, RunFolder, read
from state.database import open_database
from state.jobs import move, read_job
from state.outside_text import plain_line
from state.process_identity import ProcessIdentity
from state.records.jobs import Job, JobState

LINE_SHOWN = 200
_OPEN: tuple[JobState, ...] = ("queued", "starting", "running", "stopping")


def record_end(
    database: sqlite3.Connection, job: Job, end: ExitFile | None, state: JobState, reason: str | None
) -> bool:
    """Move a job to its end. Only the first of several who try succeeds."""
    folder = RunFolder(Path(job.run_folder))
    child = read(folder.child, ProcessIdentity)
    now = time.time()
    ended_at = end.ended_at if end else now
    return move(
        database, job.id, _OPEN, state, now, reason or "",
        started_at=job.started_at or folder.started_at(), ended_at=ended_at,
        reason=_with_last_line(folder, reason) if state == "lost" else reason,
        follow_up=wants_follow_up(job), exit_code=end.exit_code if end else None,
        exit_signal=end.exit_signal if end else None,
        pid=child.pid if child else job.pid,
    )  # fmt: skip


def record_end_of_runner(database_path: Path, job_id: int, run_folder: Path, end: ExitFile) -> None:
    """What a runner does last. The database may have moved on: a job of that number in another folder is not touched.

    Raises:
        StateError: The database cannot be used; the run folder tells the next engine all the same.
        sqlite3.DatabaseError: The same.
    """
    if not database_path.exists():
        return
    with closing(open_database(database_path, durable=True)) as database:
        job = read_job(database, job_id)
        if job is not None and job.run_folder == str(run_folder):
            record_end(database, job, end, *outcome(end, job.stop_requested_at is not None, job.stop_reason))


def _with_last_line(folder: RunFolder, reason: str | None) -> str | None:
    lines = last_lines(folder.log, 1)
    return f"{reason}; last line: {plain_line(lines[0], LINE_SHOWN)}" if lines else reason
