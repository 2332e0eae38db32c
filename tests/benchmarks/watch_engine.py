"""The engine with 8 GPUs (the fake NVML library) and 2 servers at 1 Hz: CPU, memory, growth of the database.

python -m tests.benchmarks.watch_engine [SECONDS]
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import psutil
from aiohttp import web

from state.database import open_database
from state.records.servers import Server
from state.servers import add_server
from tests.benchmarks.results import Result, Skipped
from tests.watch.fake_gpus import build
from tests.watch.http_servers import RecordedSglang, serving

Observe = Callable[[psutil.Process, Path, float], Awaitable[list[Result]]]
"""From the engine's process, its database and seconds to what was found."""
SETTLE_S = 15
SUBJECT = "engine, 8 GPUs, 2 servers"


class LoadedSglang(RecordedSglang):
    """A whole page of metrics whose totals grow, as under load."""

    def __init__(self, page: Path | None) -> None:
        super().__init__("eagle")
        if page is not None:
            self.metrics = page.read_text()
        self.polls = 0

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/metrics":
            self.polls += 1
            self.set("num_running_reqs", 32)
            self.set("generation_tokens_total", 2112 + 2500 * self.polls)
            self.set("spec_verify_calls_total", 2093 + 1000 * self.polls)
        return await super().__call__(request)


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """The figures of one run."""
    if shutil.which("gcc") is None:
        raise Skipped("no gcc, so the fake libnvidia-ml.so.1 cannot be built")
    seconds = float(os.environ.get("WATCH_SECONDS", "60"))
    report(f"the engine is watched for {seconds:.0f} s")
    yield from asyncio.run(measure(seconds, observe))


async def measure(seconds: float, observe: Observe) -> list[Result]:
    """Run the engine on the fake library and two recorded servers while it is observed."""
    page = Path(os.environ["METRICS_PAGE"]) if "METRICS_PAGE" in os.environ else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build(folder)
        (folder / "script").write_text("gpus 8\njitter 1\npcie_ms 20\n")
        home = folder / "home"
        home.mkdir(mode=0o700)
        async with serving(LoadedSglang(page)) as first, serving(LoadedSglang(page)) as second:
            database = open_database(home / "alula.sqlite")
            for url in (first, second):
                add_server(database, Server(url=url, found_by="url", seen_at=time.time(), health="starting"))
            database.close()
            environment = os.environ | {"ALULA_HOME": str(home), "FAKE_NVML": str(folder / "script"),
                                        "LD_LIBRARY_PATH": str(library.parent)}  # fmt: skip
            engine = await asyncio.create_subprocess_exec(sys.executable, "-m", "engine.daemon", env=environment)
            try:
                return await observe(psutil.Process(engine.pid), home / "alula.sqlite", seconds)
            finally:
                engine.terminate()
                await engine.wait()


async def observe(process: psutil.Process, database: Path, seconds: float) -> list[Result]:
    await asyncio.sleep(SETTLE_S)
    rows, polls = count(database, "gpu_sample"), count(database, "server_sample")
    before, begun, memory = process.cpu_times(), time.monotonic(), process.memory_info().rss
    await asyncio.sleep(seconds)
    after, elapsed = process.cpu_times(), time.monotonic() - begun
    resident = process.memory_info().rss
    servers = (count(database, "server_sample") - polls) / elapsed
    return [
        Result(SUBJECT, "CPU", (after.user + after.system - before.user - before.system) / elapsed * 100, "%", 1),
        Result(SUBJECT, "resident", resident / 2**20, "MiB", 80),
        Result(SUBJECT, "growth meanwhile", (resident - memory) / 2**10, "KiB"),
        Result(SUBJECT, "GPU samples", (count(database, "gpu_sample") - rows) / elapsed, "1/s"),
        Result(SUBJECT, "server samples", servers, "1/s"),  # more than 2: others run on this host, and are polled too
    ]


def count(path: Path, table: str) -> int:
    database = open_database(path)
    (rows,) = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
    database.close()
    return int(rows)
