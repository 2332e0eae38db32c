"""Regenerations in the database: what is running, how far it is, and its past in thinning steps."""

import sqlite3

from state import rows
from state.records.regeneration import Regeneration, RegenerationDetail, RegenerationProgress, RegenerationState

_THINNING = ((600.0, 10), (24 * 3600.0, 60))
"""Progress older than so many seconds is kept once in so many seconds: 50 hours come to about 12,000 rows."""


def add_regeneration(connection: sqlite3.Connection, regeneration: Regeneration) -> int:
    """Add a run; returns its id.

    Raises:
        sqlite3.IntegrityError: The name is taken.
    """
    return rows.insert(connection, "regeneration", regeneration)


def read_regenerations(connection: sqlite3.Connection) -> list[Regeneration]:
    """All runs, the newest first."""
    return rows.read(connection, Regeneration, "SELECT * FROM regeneration ORDER BY id DESC")


def find_regeneration(connection: sqlite3.Connection, name: str) -> Regeneration | None:
    """A run by name or id."""
    sql = "SELECT * FROM regeneration WHERE name = ?1 OR CAST(id AS TEXT) = ?1 ORDER BY name = ?1 DESC"
    return rows.read_one(connection, Regeneration, sql, [name])


def find_regenerations(connection: sqlite3.Connection, name: str) -> list[Regeneration]:
    """A run by name or id, or all runs of a fleet in their order; none where there is neither."""
    found = find_regeneration(connection, name)
    if found is not None:
        return [found]
    return rows.read(connection, Regeneration, "SELECT * FROM regeneration WHERE fleet = ? ORDER BY id", [name])


def by_folder(connection: sqlite3.Connection, run_folder: str) -> Regeneration | None:
    """The run whose answers lie in this folder."""
    return rows.read_one(connection, Regeneration, "SELECT * FROM regeneration WHERE run_folder = ?", [run_folder])


def set_state(connection: sqlite3.Connection, run_id: int, state: RegenerationState, message: str = "") -> None:
    """Move a run to another state, with a word why."""
    rows.update(connection, "regeneration", run_id, state=state, message=message)


def set_job(connection: sqlite3.Connection, run_id: int, job_id: int) -> None:
    """Name the job that works on it now; it runs."""
    rows.update(connection, "regeneration", run_id, job_id=job_id, state="running", message="")


def set_totals(connection: sqlite3.Connection, run_id: int, total: int, rejected: int) -> None:
    """Record what the inputs hold."""
    rows.update(connection, "regeneration", run_id, total=total, rejected=rejected)


def set_message(connection: sqlite3.Connection, run_id: int, message: str) -> None:
    """Say what it is waiting for; empty where it runs freely."""
    rows.update(connection, "regeneration", run_id, message=message)


def write_progress(connection: sqlite3.Connection, progress: RegenerationProgress) -> None:
    """Add progress, and thin what is old. After a clock was set back, what it said of later times goes."""
    later = "DELETE FROM regeneration_progress WHERE run_id = ? AND taken_at > ?"
    connection.execute(later, [progress.run_id, progress.taken_at])
    rows.replace(connection, "regeneration_progress", progress)
    if int(progress.taken_at) % 60 == 0:
        for age_s, step in _THINNING:
            connection.execute(
                f"""DELETE FROM regeneration_progress WHERE run_id = ?1 AND taken_at < ?2 AND taken_at NOT IN
                    (SELECT min(taken_at) FROM regeneration_progress WHERE run_id = ?1 AND taken_at < ?2
                     GROUP BY CAST(taken_at / {step} AS INTEGER))""",
                [progress.run_id, progress.taken_at - age_s],
            )


def write_detail(connection: sqlite3.Connection, detail: RegenerationDetail) -> None:
    """Put the newest detail of a run in the place of the one before."""
    rows.replace(connection, "regeneration_detail", detail)


def read_detail(connection: sqlite3.Connection, run_id: int) -> RegenerationDetail | None:
    """The newest detail of a run; `None` before its worker has told any."""
    sql = "SELECT * FROM regeneration_detail WHERE run_id = ?"
    return rows.read_one(connection, RegenerationDetail, sql, [run_id])


def latest_progress(connection: sqlite3.Connection, run_id: int) -> RegenerationProgress | None:
    """The newest progress of a run."""
    sql = "SELECT * FROM regeneration_progress WHERE run_id = ? ORDER BY taken_at DESC LIMIT 1"
    return rows.read_one(connection, RegenerationProgress, sql, [run_id])


def latest_overall_speed(connection: sqlite3.Connection, run_id: int) -> float | None:
    """Tokens a second of a run as a whole, of the newest worker that has made some; `None` where none has."""
    sql = """SELECT tokens_per_s_overall FROM regeneration_progress
        WHERE run_id = ? AND tokens_per_s_overall IS NOT NULL ORDER BY taken_at DESC LIMIT 1"""
    found = connection.execute(sql, [run_id]).fetchone()
    return found[0] if found is not None else None


def speed_history(
    connection: sqlite3.Connection, run_id: int, since: float, until: float, step_s: float
) -> tuple[tuple[float, float | None], ...]:
    """Mean tokens a second in whole steps between two times, oldest first: (start of the step, mean)."""
    sql = """SELECT CAST(taken_at / ?4 AS INTEGER) * ?4 AS step, avg(tokens_per_s_now) FROM regeneration_progress
        WHERE run_id = ?1 AND taken_at >= ?2 AND taken_at < ?3 GROUP BY step ORDER BY step"""
    return tuple(connection.execute(sql, [run_id, since, until, step_s]).fetchall())


def progress_history(connection: sqlite3.Connection, run_id: int, since: float) -> list[RegenerationProgress]:
    """Progress of a run since a time, in time order."""
    sql = "SELECT * FROM regeneration_progress WHERE run_id = ? AND taken_at >= ? ORDER BY taken_at"
    return rows.read(connection, RegenerationProgress, sql, [run_id, since])
