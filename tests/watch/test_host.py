"""The host, from this very machine and from files of others."""

import asyncio
from pathlib import Path

import psutil
import pytest

from engine.watch.disk_forecast import seconds_until_full
from engine.watch.host import DiskReader, HostReader, mount_of, pressure, watch_host
from engine.watch.readings import Board
from tests.watch.test_servers import eventually


def test_a_sample_of_this_machine() -> None:
    reader = HostReader()
    reader.read(0.0)
    sample = reader.read(1.0)
    memory = psutil.virtual_memory()
    assert sample.memory_total_bytes == memory.total
    assert sample.memory_used_bytes and 0 < sample.memory_used_bytes < memory.total
    assert sample.cpu_percent is not None and 0 <= sample.cpu_percent <= 100
    assert sample.network_received_bytes_per_s is not None and sample.network_received_bytes_per_s >= 0


def test_paths_on_one_file_system_are_one_disk(tmp_path: Path) -> None:
    (disk,) = DiskReader().read([("state", tmp_path), ("runs", tmp_path / "not/yet/made"), ("state", tmp_path)], 0.0)
    assert (disk.mount, disk.purpose) == (mount_of(tmp_path), "state, runs")
    assert 0 < disk.free_bytes <= disk.total_bytes and disk.full_in_s is None


def test_a_disk_that_fills_at_a_steady_rate() -> None:
    gib = 1 << 30
    filling = [(float(second), 100 * gib - second * gib // 10) for second in range(0, 301, 10)]
    assert seconds_until_full(filling) == pytest.approx(700, rel=0.01)


def test_a_disk_that_empties_or_hardly_changes_is_not_filling() -> None:
    assert seconds_until_full([(float(s), 1000 + s) for s in range(0, 600, 10)]) is None
    assert seconds_until_full([(float(s), 10**12 - s * 1000) for s in range(0, 600, 10)]) is None
    assert seconds_until_full([(0.0, 10**12), (30.0, 10**11)]) is None


def test_pressure_where_the_kernel_has_it(tmp_path: Path) -> None:
    (tmp_path / "io").write_text("some avg10=12.34 avg60=3.00 avg300=1.00 total=9\nfull avg10=0.00\n")
    assert pressure("io", tmp_path) == 12.34
    assert pressure("cpu", tmp_path) is None


async def test_host_and_disks_arrive_on_the_board(tmp_path: Path) -> None:
    board = Board()
    task = asyncio.create_task(watch_host(board, lambda: [("state", tmp_path)]))
    readings = await eventually(lambda: next((r for r in [board.take()] if r.host and r.disks), None))
    assert readings.disks[0].purpose == "state"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
