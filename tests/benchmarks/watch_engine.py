"""The engine with 8 GPUs (the fake NVML library) and 2 servers at 1 Hz: CPU, memory, growth of the database.

python -m tests.benchmarks.watch_engine [SECONDS]
"""

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import psutil
from aiohttp import web

from state.database import open_database
from state.records.servers import Server
from state.servers import add_server
from tests.watch.fake_gpus import build
from tests.watch.http_servers import RECORDED, RecordedSglang, serving

SETTLE_S = 15
WATCH_PARTS = "gpus, host, servers, samples, alerts, commands, jobs, heartbeat"


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


async def measure(seconds: float) -> None:
    page = Path(os.environ["METRICS_PAGE"]) if "METRICS_PAGE" in os.environ else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build(folder)
        (folder / "script").write_text("gpus 8\njitter 1\npcie_ms 20\n")
        home = folder / "home"
        home.mkdir(mode=0o700)
        async with serving(LoadedSglang(page)) as first, serving(LoadedSglang(page)) as second:
            with open_database(home / "alula.sqlite") as database:
                for url in (first, second):
                    add_server(database, Server(url=url, found_by="url", seen_at=time.time(), health="starting"))
            environment = os.environ | {"ALULA_HOME": str(home), "FAKE_NVML": str(folder / "script"),
                                        "LD_LIBRARY_PATH": str(library.parent)}  # fmt: skip
            engine = await asyncio.create_subprocess_exec(sys.executable, "-m", "engine.daemon", env=environment)
            try:
                await report(psutil.Process(engine.pid), home / "alula.sqlite", seconds)
            finally:
                engine.terminate()
                await engine.wait()


async def report(process: psutil.Process, database: Path, seconds: float) -> None:
    await asyncio.sleep(SETTLE_S)
    before, begun, memory = process.cpu_times(), time.monotonic(), process.memory_info().rss
    await asyncio.sleep(seconds)
    after, elapsed = process.cpu_times(), time.monotonic() - begun
    cpu = (after.user + after.system - before.user - before.system) / elapsed * 100
    rss = process.memory_info().rss
    print(f"engine, 8 GPUs and 2 servers at 1 Hz over {elapsed:.0f} s ({WATCH_PARTS})")
    print(f"  CPU            {cpu:6.2f} % of one core   (goal 1)")
    print(f"  resident       {rss / 2**20:6.1f} MiB           (goal 80), {(rss - memory) / 2**10:+.0f} KiB meanwhile")
    print(f"  threads        {process.num_threads():4d}, open files {process.num_fds()}")
    with sqlite3.connect(database) as connection:
        for table in ("gpu_sample", "server_sample", "host_sample"):
            count, first, last = connection.execute(
                f"SELECT COUNT(*), MIN(taken_at), MAX(taken_at) FROM {table}"
            ).fetchone()
            print(f"  {table:14} {count / max(last - first, 1):6.2f} rows a second")


if __name__ == "__main__":
    assert RECORDED.exists()
    asyncio.run(measure(float(sys.argv[1]) if len(sys.argv) > 1 else 60))
