"""Samples, roll-ups and histories in a real database."""

import sqlite3
from pathlib import Path

import pytest

from state import gpus, host, servers
from state.database import open_database
from state.records.gpus import Gpu, GpuSample
from state.records.host import HostSample
from state.records.servers import Server, ServerSample
from state.rollups import roll_up, table_for

START = 1_800_000_000.0


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return open_database(tmp_path / "state.db")


def sample(uuid: str, at: float, **changes: float | int) -> GpuSample:
    return GpuSample(uuid=uuid, taken_at=at, **changes)


def test_the_newest_sample_of_a_lost_gpu_stays_readable(database: sqlite3.Connection) -> None:
    gpus.write_gpus(database, [Gpu(uuid=u, index=i, name="NVIDIA H200", seen_at=START) for i, u in enumerate("ab")])
    gpus.write_samples(database, [sample("a", START, power_w=95.5), sample("b", START, power_w=600)])
    gpus.write_samples(database, [sample("a", START + 1, power_w=96)])
    newest = gpus.latest_samples(database)
    assert (newest["a"].taken_at, newest["b"].taken_at, newest["b"].power_w) == (START + 1, START, 600)


def test_mig_instances_follow_their_parent(database: sqlite3.Connection) -> None:
    rows = [("m1", 1, "p1"), ("p1", 1, None), ("p0", 0, None), ("m0", 0, "p1"), ("p2", 2, None)]
    gpus.write_gpus(database, [Gpu(uuid=u, index=i, name="x", parent_uuid=p, seen_at=START) for u, i, p in rows])
    assert [gpu.uuid for gpu in gpus.read_gpus(database)] == ["p0", "p1", "m0", "m1", "p2"]


def test_a_minute_rolls_up_to_means_peaks_and_every_throttle_reason(database: sqlite3.Connection) -> None:
    gpus.write_gpus(database, [Gpu(uuid="a", index=0, name="x", seen_at=START)])
    for second in range(60):
        hot = second == 30
        gpus.write_samples(database, [sample("a", START + second, utilization_percent=second % 2 * 100,
            temperature_c=91 if hot else 60, throttle_reasons=0x40 if hot else 0x4)])  # fmt: skip
    roll_up(database, gpus.SERIES, 0, START + 60)
    roll_up(database, gpus.SERIES, 0, START + 60)
    now = START + 7200
    (minute,) = gpus.gpu_history(database, "a", START, now, now + 90_000)
    assert (minute.utilization_percent, minute.temperature_c, minute.throttle_reasons) == (50, 91, 0x44)
    tens = gpus.gpu_history(database, "a", START, now, now)
    assert [round(row.taken_at - START) for row in tens] == [0, 10, 20, 30, 40, 50]
    assert [row.throttle_reasons for row in tens] == [0x4, 0x4, 0x4, 0x44, 0x4, 0x4]


def test_old_samples_go_and_roll_ups_stay(database: sqlite3.Connection) -> None:
    for second in range(0, 10_000, 10):
        host.write_host_sample(database, host_sample(START + second))
    roll_up(database, host.SERIES, START, START + 10_000)
    oldest = {
        table: database.execute(f"SELECT min(taken_at) FROM {table}").fetchone()[0]
        for table in ("host_sample", "host_sample_10s")
    }
    assert oldest == {"host_sample": START + 10_000 - 3600, "host_sample_10s": START}


def test_values_that_were_never_reported_stay_absent(database: sqlite3.Connection) -> None:
    servers.add_server(database, Server(url="http://a", found_by="url", seen_at=START, health="up"))
    for second in range(20):
        servers.write_server_samples(database, [ServerSample(url="http://a", taken_at=START + second, tokens_per_s=9)])
    roll_up(database, servers.SERIES, START, START + 20)
    for row in servers.server_history(database, "http://a", START, START + 20, START + 7200):
        assert (row.tokens_per_s, row.accept_length) == (9, None)


def test_removing_a_server_removes_its_history(database: sqlite3.Connection) -> None:
    servers.add_server(database, Server(url="http://a", found_by="url", seen_at=START, health="up"))
    servers.write_server_samples(database, [ServerSample(url="http://a", taken_at=START)])
    assert servers.remove_server(database, "http://a")
    assert not servers.remove_server(database, "http://a")
    assert database.execute("SELECT COUNT(*) FROM server_sample").fetchone() == (0,)


def test_each_age_is_read_from_the_finest_table_that_holds_it() -> None:
    ages = {60: "t", 3601: "t_10s", 86_401: "t_60s", 99_999_999: "t_60s"}
    assert {age: table_for("t", age) for age in ages} == ages


def host_sample(at: float) -> HostSample:
    return HostSample(
        taken_at=at, cpu_percent=5, load_1m=1, load_5m=1, load_15m=1, cores=2, memory_used_bytes=1,
        memory_total_bytes=2, swap_used_bytes=0, swap_total_bytes=0,
    )  # fmt: skip
