"""How large the database grows: 16 GPUs, 4 servers and the host for 30 days, rows written in the order of time.

python -m tests.benchmarks.watch_database
"""

import random
import sqlite3
import tempfile
import time
from pathlib import Path

from state.database import open_database
from state.gpus import gpu_history, latest_samples, write_gpus
from state.records.gpus import Gpu
from state.records.servers import Server
from state.rollups import RAW_KEPT_S, SPANS
from state.servers import add_server

GPUS, SERVERS, NOW = 16, 4, 1_800_000_000
LIMIT_MB = 200


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


def timed(name: str, work: object) -> None:
    begun = time.perf_counter()
    found = work()  # type: ignore[operator]
    print(f"  {name:34} {(time.perf_counter() - begun) * 1e3:8.1f} ms, {len(found)} rows")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alula.sqlite"
        database = open_database(path)
        write_gpus(database, [Gpu(uuid=f"GPU-{index}", index=index, name="x", seen_at=NOW) for index in range(GPUS)])
        for index in range(SERVERS):
            add_server(database, Server(url=f"http://{index}", found_by="url", seen_at=NOW, health="up"))
        rows = fill(database)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = path.stat().st_size
        print(
            f"{GPUS} GPUs, {SERVERS} servers and the host for 30 days: {rows} rows, "
            f"{size / 1e6:.1f} MB (goal {LIMIT_MB})"
        )
        hour = GPUS * 3600 * size / rows / 1e6
        print(f"  one more hour of samples before roll-up: about {hour:.1f} MB, then given back")
        timed("newest samples", lambda: latest_samples(database))
        timed("one GPU, last 5 minutes", lambda: gpu_history(database, "GPU-3", NOW - 300, NOW, NOW))
        timed("one GPU, last day", lambda: gpu_history(database, "GPU-3", NOW - 86_400, NOW, NOW))
        timed("one GPU, 30 days", lambda: gpu_history(database, "GPU-3", NOW - 30 * 86_400, NOW, NOW))


if __name__ == "__main__":
    main()
