"""How large the database grows: 16 GPUs, 4 servers and the host for 30 days, rows written in the order of time.

python -m tests.benchmarks.watch_database
"""

import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from state.database import open_database
from state.gpus import gpu_history, latest_samples, write_gpus
from state.records.gpus import Gpu
from state.records.servers import Server
from state.rollups import RAW_KEPT_S, SPANS
from state.servers import add_server
from tests.benchmarks.results import Result

GPUS, SERVERS, NOW = 16, 4, 1_800_000_000
SUBJECT = "16 GPUs, 4 servers, 30 days"


def fill(database: sqlite3.Connection) -> int:
    written = 0
    for suffix, span, kept in [("", 1, RAW_KEPT_S), *((f"_{span}s", span, kept) for span, kept in SPANS)]:
        for begun in range(NOW - kept, NOW, 3600):
            times = range(begun, min(begun + 3600, NOW), span)
            database.execute("BEGIN")
            written += write_hour(database, suffix, times)
            database.execute("COMMIT")
    return written


def write_hour(database: sqlite3.Connection, suffix: str, times: range) -> int:
    fraction = 0.123456 if not suffix else 0.0
    gpus = [
        (gpu, at + fraction, random.randint(0, 100), random.randint(0, 150_000_000_000), random.randint(60, 700),
         random.randint(30, 85), random.randint(30, 95), random.randint(345, 1980), 3201, 4)
        for at in times for gpu in range(1, GPUS + 1)
    ]  # fmt: skip
    measured = "utilization_percent, memory_used_bytes, power_w, temperature_c, memory_temperature_c, sm_clock_mhz"
    database.executemany(
        f"INSERT INTO gpu_sample{suffix} (gpu_id, taken_at, {measured}, memory_clock_mhz, throttle_reasons) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        gpus,
    )
    servers = [
        (server, at + fraction, *(random.random() for _ in range(11)))
        for at in times
        for server in range(1, SERVERS + 1)
    ]
    database.executemany(f"INSERT INTO server_sample{suffix} VALUES ({', '.join('?' * 13)})", servers)
    hosts = [(at + fraction, *(random.random() for _ in range(14))) for at in times]
    database.executemany(f"INSERT INTO host_sample{suffix} VALUES ({', '.join('?' * 15)})", hosts)
    return len(gpus) + len(servers) + len(hosts)


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """The figures of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alula.sqlite"
        database = open_database(path)
        write_gpus(database, [Gpu(uuid=f"GPU-{index}", index=index, name="x", seen_at=NOW) for index in range(GPUS)])
        for index in range(SERVERS):
            add_server(database, Server(url=f"http://{index}", found_by="url", seen_at=NOW, health="up"))
        rows = fill(database)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        report(f"{rows} rows written")
        yield Result(SUBJECT, "database", path.stat().st_size / 1e6, "MB", 200)
        yield Result("newest samples", "query", timed(lambda: latest_samples(database)), "ms")
        for name, seconds in (("5 minutes", 300), ("a day", 86_400), ("30 days", 30 * 86_400)):
            query = partial(gpu_history, database, "GPU-3", NOW - seconds, NOW, NOW)
            yield Result(f"one GPU over {name}", "query", timed(query), "ms")
        database.close()


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3
