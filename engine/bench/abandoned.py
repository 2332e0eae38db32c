"""Says of a benchmark whose worker has died that it has: whoever waits for it must not wait for ever."""

import asyncio
import sqlite3

from engine.context import EngineContext
from state.bench import read_benches, set_bench_state
from state.jobs import read_job
from state.outside_text import plain_line
from state.records.bench import Bench
from state.records.jobs import ENDED

LOOK_S = 1.0


async def watch_benchmarks(context: EngineContext) -> None:
    """Look every second for benchmarks that should be at work and are not."""
    database = context.database()
    try:
        while True:
            close_abandoned(database)
            await asyncio.sleep(LOOK_S)
    finally:
        database.close()


def close_abandoned(database: sqlite3.Connection) -> list[str]:
    """Close those whose job has ended while they are said to run; returns their names. Complete cells are kept."""
    if not any(_last_word(database, bench) for bench in read_benches(database)):
        return []
    closed = []
    database.execute("BEGIN IMMEDIATE")  # one that is being resumed meanwhile has another job
    try:
        for bench in read_benches(database):
            if message := _last_word(database, bench):
                set_bench_state(database, bench.id, "failed", plain_line(message, 500))
                closed.append(bench.name)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    return closed


def _last_word(database: sqlite3.Connection, bench: Bench) -> str:
    """Why its worker is gone; empty where all is well."""
    if bench.state != "running" or bench.job_id is None:
        return ""
    job = read_job(database, bench.job_id)
    if job is None or job.state not in ENDED:
        return ""
    remedy = f"see alula jobs logs {job.id}, then alula bench resume {bench.name}"
    return f"its worker ended before it was done: {job.reason or job.state}; {remedy}"
