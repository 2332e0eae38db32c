"""Jobs and their timelines."""

import sqlite3
from collections.abc import Sequence

from state import rows
from state.records.jobs import ENDED, Job, JobEvent, JobState

_OPEN = ", ".join(f"'{state}'" for state in ("queued", "starting", "running", "stopping"))


def add_job(connection: sqlite3.Connection, job: Job) -> int:
    """Queue a job; returns its id."""
    job_id = rows.insert(connection, "job", job)
    add_event(connection, job_id, job.created_at, job.state, "")
    return job_id


def read_job(connection: sqlite3.Connection, job_id: int) -> Job | None:
    """One job, or `None`."""
    return rows.read_one(connection, Job, "SELECT * FROM job WHERE id = ?", [job_id])


def read_jobs(connection: sqlite3.Connection, limit: int = 1000) -> list[Job]:
    """The newest jobs, newest first; open ones are always among them."""
    sql = f"""SELECT * FROM job WHERE state IN ({_OPEN})
        OR id IN (SELECT id FROM job ORDER BY id DESC LIMIT ?) ORDER BY id DESC"""
    return rows.read(connection, Job, sql, [limit])


def open_jobs(connection: sqlite3.Connection) -> list[Job]:
    """Jobs that have not ended, the oldest first."""
    return rows.read(connection, Job, f"SELECT * FROM job WHERE state IN ({_OPEN}) ORDER BY id")


def jobs_since(connection: sqlite3.Connection, event_id: int) -> list[Job]:
    """Jobs that something has happened to after this event."""
    sql = "SELECT * FROM job WHERE id IN (SELECT job_id FROM job_event WHERE id > ?)"
    return rows.read(connection, Job, sql, [event_id])


def read_events(connection: sqlite3.Connection, job_id: int) -> list[JobEvent]:
    """A job's timeline, in order."""
    return rows.read(connection, JobEvent, "SELECT * FROM job_event WHERE job_id = ? ORDER BY id", [job_id])


def request_stop(connection: sqlite3.Connection, job_id: int, now: float, reason: str | None = None) -> None:
    """Ask for a stop, with a reason where it is not an operator's wish. Asking again changes nothing."""
    connection.execute(
        f"""UPDATE job SET stop_requested_at = ?, stop_reason = ?
            WHERE id = ? AND stop_requested_at IS NULL AND state IN ({_OPEN})""",
        [now, reason, job_id],
    )


def move(
    connection: sqlite3.Connection,
    job_id: int,
    allowed: Sequence[JobState],
    state: JobState,
    now: float,
    message: str = "",
    **changes: object,
) -> bool:
    """Change a job's state, and other columns with it, if it stands in one of the `allowed` states.

    Returns `False`, with nothing changed, where it does not: an ended job never moves again.
    """
    assert not ENDED.intersection(allowed)
    names = ", ".join(f"{name} = ?" for name in ("state", *changes))
    marks = ", ".join("?" * len(allowed))
    cursor = connection.execute(
        f"UPDATE job SET {names} WHERE id = ? AND state IN ({marks})", [state, *changes.values(), job_id, *allowed]
    )
    if cursor.rowcount == 1:
        add_event(connection, job_id, now, state, message)
    return cursor.rowcount == 1


def add_event(connection: sqlite3.Connection, job_id: int, at: float, state: JobState, message: str) -> None:
    """Add to a job's timeline."""
    rows.insert(connection, "job_event", JobEvent(job_id=job_id, at=at, state=state, message=message))
