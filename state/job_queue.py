"""The queue of jobs as a whole, and what follows a job's end: written once, whoever looks and however often."""

import sqlite3
from collections.abc import Iterable

import msgspec

from state import rows
from state.records.jobs import Job, JobState


class JobQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Whether queued jobs start."""

    paused_at: float | None = None
    paused_by: str | None = None


def read_queue(connection: sqlite3.Connection) -> JobQueue:
    """The state of the queue."""
    return rows.read_one(connection, JobQueue, "SELECT paused_at, paused_by FROM job_queue") or JobQueue()


def pause_queue(connection: sqlite3.Connection, by: str, now: float) -> None:
    """Start no more jobs. Pausing again changes nothing."""
    connection.execute("UPDATE job_queue SET paused_at = ?, paused_by = ? WHERE paused_at IS NULL", [now, by])


def resume_queue(connection: sqlite3.Connection) -> None:
    """Start jobs again."""
    connection.execute("UPDATE job_queue SET paused_at = NULL, paused_by = NULL")


def last_tries(connection: sqlite3.Connection, job_ids: Iterable[int]) -> dict[int, JobState]:
    """For each job that exists, the state of its last try; `queued` while a next try is still to be decided on."""
    sql = """
        WITH RECURSIVE tries (id) AS (
            SELECT ? UNION SELECT job.id FROM job JOIN tries ON job.retry_of = tries.id
        )
        SELECT CASE WHEN follow_up THEN 'queued' ELSE state END FROM job JOIN tries USING (id)
        ORDER BY id DESC LIMIT 1"""
    found: dict[int, JobState] = {}
    for job_id in job_ids:
        if row := connection.execute(sql, [job_id]).fetchone():
            found[job_id] = row[0]
    return found


def jobs_to_follow_up(connection: sqlite3.Connection) -> list[Job]:
    """Ended jobs whose end has still to be looked at, the oldest first."""
    return rows.read(connection, Job, "SELECT * FROM job WHERE follow_up ORDER BY id")


def take_follow_up(connection: sqlite3.Connection, job_id: int) -> bool:
    """Whether the caller is the one who decides what follows; to be asked inside the transaction of what follows."""
    return connection.execute("UPDATE job SET follow_up = 0 WHERE id = ? AND follow_up", [job_id]).rowcount == 1


def jobs_getting_ready(connection: sqlite3.Connection) -> list[Job]:
    """Running jobs that have not been ready yet."""
    return rows.read(connection, Job, "SELECT * FROM job WHERE state = 'running' AND ready_at IS NULL ORDER BY id")


def write_waiting(connection: sqlite3.Connection, job_id: int, reason: str) -> None:
    """Say why a queued job waits."""
    connection.execute("UPDATE job SET reason = ? WHERE id = ? AND state = 'queued'", [reason, job_id])


def write_ready(connection: sqlite3.Connection, job_id: int, now: float) -> bool:
    """Record that a running job is ready to work; `False` where it is no longer running or has been ready."""
    sql = "UPDATE job SET ready_at = ? WHERE id = ? AND state = 'running' AND ready_at IS NULL"
    return connection.execute(sql, [now, job_id]).rowcount == 1
