"""A day and a half of the engine in minutes: 8 GPUs and 2 servers, recorded and played again, its clock sped up.

SOAK_HOURS=36 SOAK_FACTOR=60 python -m tests.benchmarks soak_watch
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil

from engine.watch.recorder import record
from state.database import open_database
from tests.benchmarks.results import Result
from tests.benchmarks.watch_engine import SETTLE_S, count, measure

RECORDED_S, GPUS = 60.0, 8
SUBJECT = "engine, a day and a half"
WARM_HOURS = 24
"""What grows before this is filled once: means of ten seconds, of which a day is kept, caches, trends."""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """A line for each hour, then the growth after the first day."""
    hours, factor = float(os.environ.get("SOAK_HOURS", "36")), float(os.environ.get("SOAK_FACTOR", "60"))
    with tempfile.TemporaryDirectory() as name:
        recording = Path(name) / "host.jsonl.gz"
        asyncio.run(measure(RECORDED_S, partial(_record, recording)))
        report(f"{hours:g} hours at {factor:g} times the speed")
        yield from _days(Path(name) / "home", recording, hours, factor, report)


async def _record(recording: Path, process: psutil.Process, path: Path, seconds: float) -> list[Result]:
    await asyncio.sleep(SETTLE_S)
    database = open_database(path)
    await asyncio.to_thread(record, database, recording, seconds)
    database.close()
    return []


def _days(home: Path, recording: Path, hours: float, factor: float, report: Callable[[str], None]) -> Iterator[Result]:
    home.mkdir(mode=0o700)
    command = [sys.executable, "-m", "tests.benchmarks.fast_clock", str(factor), "console", "engine", "run", "--replay"]
    engine = subprocess.Popen([*command, str(recording)], env=os.environ | {"ALULA_HOME": str(home)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        found = list(_observe(psutil.Process(engine.pid), home / "alula.sqlite", hours, factor, report))
    finally:
        engine.terminate()
        engine.wait(60)
    yield from found
    kept = {"": 3600, "_10s": 8640, "_60s": 1440}
    for suffix, rows in kept.items():
        yield Result(
            SUBJECT, f"gpu_sample{suffix}", count(home / "alula.sqlite", f"gpu_sample{suffix}") / GPUS, f"of {rows}"
        )


def _observe(
    process: psutil.Process, database: Path, hours: float, factor: float, report: Callable[[str], None]
) -> Iterator[Result]:
    begun, first = time.monotonic(), None
    for hour in range(1, round(hours) + 1):
        time.sleep(max(0.0, begun + hour * 3600 / factor - time.monotonic()))
        now = (process.memory_info().rss / 2**20, process.num_fds(), process.num_threads())
        size = sum(path.stat().st_size for path in database.parent.glob("alula.sqlite*")) / 2**20
        report(f"  hour {hour:2d}  {now[0]:6.1f} MiB  {now[1]} files  {now[2]} threads  database {size:.1f} MiB")
        if hour == WARM_HOURS:
            first = now
    if first is not None:
        for what, value, unit in zip(("memory", "files", "threads"), range(3), ("MiB", "", ""), strict=True):
            yield Result(SUBJECT, f"growth of {what}", now[value] - first[value], unit, 2)
    yield Result(SUBJECT, "database", size, "MiB")
    yield Result(SUBJECT, "CPU", sum(process.cpu_times()[:2]) / (time.monotonic() - begun) * 100 / factor, "% at 1x")
