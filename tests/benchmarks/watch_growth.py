"""The engine of `watch_engine` for long: memory, files, threads and the database, once a minute.

WATCH_SECONDS=3600 python -m tests.benchmarks watch_growth
"""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil

from tests.benchmarks.results import Result, Skipped
from tests.benchmarks.watch_engine import SETTLE_S, SUBJECT, measure

MINUTE_S = 60.0
WARM_S = 600.0
"""What grows before this is filled once: caches, histograms, a trend's past."""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """One line a minute, then the growth from the tenth minute to the last."""
    if shutil.which("gcc") is None:
        raise Skipped("no gcc, so the fake libnvidia-ml.so.1 cannot be built")
    seconds = float(os.environ.get("WATCH_SECONDS", "1800"))
    yield from asyncio.run(measure(seconds, partial(_observe, report)))


async def _observe(
    report: Callable[[str], None], process: psutil.Process, database: Path, seconds: float
) -> list[Result]:
    await asyncio.sleep(SETTLE_S)
    before, begun = process.cpu_times(), time.monotonic()
    warm = process.memory_info().rss
    while (left := seconds - (time.monotonic() - begun)) > 0:
        await asyncio.sleep(min(MINUTE_S, left))
        elapsed, resident = time.monotonic() - begun, process.memory_info().rss
        if elapsed <= WARM_S:
            warm = resident
        size = sum(path.stat().st_size for path in database.parent.glob(f"{database.name}*"))
        report(
            f"  {elapsed / 60:4.0f} min  {resident / 2**20:6.1f} MiB  {process.num_fds()} files"
            f"  {process.num_threads()} threads  database {size / 2**20:.2f} MiB"
        )
    after, elapsed = process.cpu_times(), time.monotonic() - begun
    used = after.user + after.system - before.user - before.system
    return [
        Result(SUBJECT, "CPU", used / elapsed * 100, "%", 1),
        Result(SUBJECT, "resident", process.memory_info().rss / 2**20, "MiB", 80),
        Result(SUBJECT, "growth once warm", (process.memory_info().rss - warm) / 2**10, "KiB"),
    ]
