"""Once a second, everything that was read goes into the database in one transaction."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Coroutine

import state.gpus
import state.host
import state.servers
from engine.watch.readings import Board, Readings
from engine.watch.ticks import WRITE_PHASE_S, until_tick
from state.rollups import roll_up

WRITE_S = 1.0
ROLL_UP_S = 10.0
OVERLAP_S = 120.0
"""Roll-ups begin this long ago, so that the minute under way at the last one is closed; rows that stand stay."""
_SERIES = (state.gpus.SERIES, state.host.SERIES, state.servers.SERIES)


async def write_readings(board: Board, database: sqlite3.Connection, taken: Callable[[Readings], None]) -> None:
    """Write until cancelled.

    Args:
        board: Where the watchers put what they read.
        database: A connection of this task's own.
        taken: Called with each second's readings, for whoever judges them.
    """
    since, roll_up_due = 0.0, time.monotonic()
    while True:
        readings = board.take()
        now = time.time()
        due = time.monotonic() >= roll_up_due
        if due:
            roll_up_due = time.monotonic() + ROLL_UP_S
        if due or readings != Readings():
            await _finished(asyncio.to_thread(write, database, readings, (since, now) if due else None))
        since = now - OVERLAP_S if due else since
        taken(readings)
        await asyncio.sleep(until_tick(WRITE_S, WRITE_PHASE_S))


async def _finished(work: Coroutine[None, None, None]) -> None:
    """Wait for work in a thread, also when cancelled: the connection that it uses is closed right after."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def write(database: sqlite3.Connection, readings: Readings, span: tuple[float, float] | None = None) -> None:
    """Write one second's readings, and the roll-ups between two times if they are due."""
    database.execute("BEGIN IMMEDIATE")
    try:
        _write_gpus(database, readings)
        _write_host(database, readings)
        _write_servers(database, readings)
        for series in _SERIES if span else ():
            assert span is not None
            roll_up(database, series, *span)
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _write_gpus(database: sqlite3.Connection, readings: Readings) -> None:
    if readings.gpu_status is not None:
        state.gpus.write_status(database, readings.gpu_status)
    state.gpus.write_gpus(database, readings.gpus)
    state.gpus.write_samples(database, readings.gpu_samples)
    state.gpus.write_health(database, readings.gpu_health)
    if readings.gpu_processes is not None:
        state.gpus.write_processes(database, readings.gpu_processes)
    state.gpus.add_events(database, readings.gpu_events)


def _write_host(database: sqlite3.Connection, readings: Readings) -> None:
    if readings.host is not None:
        state.host.write_host_sample(database, readings.host)
    if readings.disks is not None:
        state.host.write_disks(database, readings.disks)


def _write_servers(database: sqlite3.Connection, readings: Readings) -> None:
    for url in readings.servers_removed:
        state.servers.remove_server(database, url)
    state.servers.write_servers(database, readings.servers)
    state.servers.write_server_samples(database, readings.server_samples)
    for url in {rank.url for rank in readings.server_ranks}:
        newest = {rank.rank: rank for rank in readings.server_ranks if rank.url == url}
        state.servers.write_ranks(database, url, newest.values())
    state.servers.add_server_events(database, readings.server_events)
