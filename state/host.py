"""The host and its disks in the database."""

import sqlite3
from collections.abc import Iterable

from state import rows
from state.records.host import DiskSample, HostSample
from state.rollups import Series

SERIES = Series(
    table="host_sample",
    means=(
        "cpu_percent", "memory_used_bytes", "swap_used_bytes", "network_received_bytes_per_s",
        "network_sent_bytes_per_s",
    ),
    precise_means=(
        "load_1m", "load_5m", "load_15m", "pressure_cpu_percent", "pressure_memory_percent", "pressure_io_percent",
    ),
    maxima=("cores", "memory_total_bytes", "swap_total_bytes"),
)  # fmt: skip


def latest_host_sample(connection: sqlite3.Connection) -> HostSample | None:
    """The newest sample; `None` before the watcher has looked."""
    return rows.read_one(connection, HostSample, "SELECT * FROM host_sample ORDER BY taken_at DESC LIMIT 1")


def read_disks(connection: sqlite3.Connection) -> list[DiskSample]:
    """The file systems that hold state, runs and checkpoints."""
    return rows.read(connection, DiskSample, "SELECT * FROM disk_sample ORDER BY mount")


def write_host_sample(connection: sqlite3.Connection, sample: HostSample) -> None:
    """Add a sample."""
    rows.replace(connection, "host_sample", sample)


def write_disks(connection: sqlite3.Connection, disks: Iterable[DiskSample]) -> None:
    """Replace the whole list."""
    connection.execute("DELETE FROM disk_sample")
    for disk in disks:
        rows.replace(connection, "disk_sample", disk)
