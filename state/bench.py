"""Benchmarks in the database: what runs, how far it is, and its speed over time."""

import sqlite3

from state import rows
from state.records.bench import Bench, BenchProgress, BenchState

_KEPT_S = 24 * 3600.0


def add_bench(connection: sqlite3.Connection, bench: Bench) -> int:
    """Add one; returns its id.

    Raises:
        sqlite3.IntegrityError: The name is taken.
    """
    return rows.insert(connection, "bench", bench)


def read_benches(connection: sqlite3.Connection) -> list[Bench]:
    """All of them, the newest first."""
    return rows.read(connection, Bench, "SELECT * FROM bench ORDER BY id DESC")


def find_bench(connection: sqlite3.Connection, name: str) -> Bench | None:
    """One by name, id or run folder."""
    sql = """SELECT * FROM bench WHERE name = ?1 OR CAST(id AS TEXT) = ?1 OR run_folder = ?1
        ORDER BY name = ?1 DESC"""
    return rows.read_one(connection, Bench, sql, [name])


def set_bench_state(connection: sqlite3.Connection, bench_id: int, state: BenchState, message: str = "") -> None:
    """Move it to another state, with a word why."""
    rows.update(connection, "bench", bench_id, state=state, message=message)


def set_bench_job(connection: sqlite3.Connection, bench_id: int, job_id: int | None) -> None:
    """Name the job that works on it now; it runs."""
    rows.update(connection, "bench", bench_id, job_id=job_id, state="running", message="")


def set_bench_size(connection: sqlite3.Connection, bench_id: int, points: int, cells: int) -> None:
    """Record that it has grown: a search adds points as it goes."""
    rows.update(connection, "bench", bench_id, points=points, cells=cells)


def write_bench_progress(connection: sqlite3.Connection, progress: BenchProgress) -> None:
    """Add progress; what is older than a day is dropped."""
    rows.replace(connection, "bench_progress", progress)
    if int(progress.taken_at) % 60 == 0:
        connection.execute("DELETE FROM bench_progress WHERE taken_at < ?", [progress.taken_at - _KEPT_S])


def latest_bench_progress(connection: sqlite3.Connection, bench_id: int) -> BenchProgress | None:
    """The newest progress of one."""
    sql = "SELECT * FROM bench_progress WHERE bench_id = ? ORDER BY taken_at DESC LIMIT 1"
    return rows.read_one(connection, BenchProgress, sql, [bench_id])


def bench_history(connection: sqlite3.Connection, bench_id: int, since: float) -> list[BenchProgress]:
    """Progress of one since a time, in time order."""
    sql = "SELECT * FROM bench_progress WHERE bench_id = ? AND taken_at >= ? ORDER BY taken_at"
    return rows.read(connection, BenchProgress, sql, [bench_id, since])
