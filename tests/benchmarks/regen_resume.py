"""A regeneration of a million samples goes on: from the start of its worker to its first request.

REGEN_STORE names a folder where the store is kept, so that the next measurement need not make it again.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from engine.regen.plan import FILE_NAME
from engine.regen.records import Plan, Sampling
from engine.regen.store import Store
from tests.benchmarks.foretold_server import MODEL, ForetoldServer, foretold_server
from tests.benchmarks.results import Result

STORED, PENDING = 1_000_000, 10_000
TIMES = 3
LIMIT_S = 300.0


def run(report: Callable[[str], None]) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("REGEN_STORE", temporary))
        if not (folder / "made").exists():
            report(f"making a store of {STORED:,} samples in {folder}")
            make_store(folder)
        for number in range(1, TIMES + 1):
            with foretold_server(50, (0.5, 1.0)) as server:
                took_s, cpu_s, memory_mib = resumed(folder, server)
            yield Result("resume", f"of {STORED:,}, time {number}", took_s, "s", 5)
            yield Result("resume", f"CPU, time {number}", cpu_s, "s")
            yield Result("resume", f"most memory, time {number}", memory_mib, "MiB", 150)


def make_store(folder: Path) -> None:
    """All but some thousand samples are answered."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder)
    numbers = range(1, STORED + 1)
    execute, each = store.database.execute, store.database.executemany
    execute("PRAGMA synchronous = OFF")
    execute("BEGIN")
    execute("INSERT INTO source VALUES (?, '', ?)", [_input(folder), STORED])
    execute("INSERT INTO extent VALUES (?, 1, ?)", [_input(folder), STORED])
    rows = ((f"p{n}", _input(folder), n, f'{{"id":"p{n}","users":["question {n}"]}}') for n in numbers)
    each("INSERT INTO sample (id, source, line, body) VALUES (?, ?, ?, ?)", rows)
    done = numbers[:-PENDING]
    each("INSERT INTO outcome VALUES (?, 'done', '', 1, 'stop', 3, ?, 0.1)", ((n, 1 + n % 4000) for n in done))
    each("INSERT INTO answer VALUES (?, ?, 0)", ((n, b"x" * 400) for n in done))
    execute("COMMIT")
    store.close()
    (folder / "made").touch()


def resumed(folder: Path, server: ForetoldServer) -> tuple[float, float, float]:
    """Seconds until a worker asks for the first time, and what it has used by then: CPU seconds, MiB."""
    plan = Plan(
        name="million", inputs=(_input(folder),), server_url=server.url, model=MODEL,
        sampling=Sampling(max_tokens=4096), concurrency=512, created_at=0.0,
    )  # fmt: skip
    (folder / FILE_NAME).write_bytes(msgspec.json.encode(plan))
    began = time.monotonic()
    worker = subprocess.Popen(
        [sys.executable, "-m", "engine.regen.worker", str(folder)],
        env={**os.environ, "ALULA_HOME": str(folder / "home")}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not server.asked:
            if worker.poll() is not None or time.monotonic() > began + LIMIT_S:
                raise RuntimeError(f"the worker asked nothing (exit code {worker.poll()})")
            time.sleep(0.002)
        took_s = time.monotonic() - began
        return took_s, *_used(worker.pid)
    finally:
        worker.kill()
        worker.wait()


def _used(pid: int) -> tuple[float, float]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    most_kib = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(most_kib[1]) / 1024 if most_kib else 0.0


def _input(folder: Path) -> str:
    return str(folder / "prompts.jsonl")
