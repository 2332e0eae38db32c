"""GPUs in the database: what the watcher writes each second and what the screens read."""

import sqlite3
from collections.abc import Iterable

from state import rows
from state.records.gpus import Gpu, GpuEvent, GpuHealth, GpuProcess, GpuSample, GpuStatus
from state.rollups import Series, table_for

EVENTS_KEPT = 1000
SERIES = Series(
    table="gpu_sample",
    key="gpu_id",
    means=("utilization_percent", "memory_used_bytes", "power_w", "sm_clock_mhz", "memory_clock_mhz"),
    maxima=("temperature_c", "memory_temperature_c"),
    bit_sets=("throttle_reasons",),
)
_SAMPLE = "utilization_percent, memory_used_bytes, power_w, temperature_c, memory_temperature_c, sm_clock_mhz, \
memory_clock_mhz, throttle_reasons"
_SAMPLE_ONLY = "memory_reserved_bytes, memory_total_bytes, power_limit_w, fan_percent"


def read_status(connection: sqlite3.Connection) -> GpuStatus | None:
    """Whether GPUs can be watched here; `None` before the watcher has looked."""
    return rows.read_one(connection, GpuStatus, "SELECT * FROM gpu_status")


def read_gpus(connection: sqlite3.Connection) -> list[Gpu]:
    """Every GPU ever seen that was not forgotten, MIG instances after their parent, lost ones included."""
    gpus = rows.read(connection, Gpu, "SELECT * FROM gpu")
    parents = {gpu.uuid: gpu.index for gpu in gpus}
    return sorted(gpus, key=lambda g: (parents.get(g.parent_uuid or g.uuid, g.index), g.parent_uuid or "", g.index))


def latest_samples(connection: sqlite3.Connection) -> dict[str, GpuSample]:
    """The newest sample of each GPU by UUID; of a lost GPU, the last one before it was lost."""
    newest = rows.read(connection, GpuSample, _newest_tick())
    found = {sample.uuid: sample for sample in newest}
    for gpu in read_gpus(connection):
        if gpu.uuid not in found and (sample := _last_sample(connection, gpu.uuid)):
            found[gpu.uuid] = sample
    return found


def gpu_history(connection: sqlite3.Connection, uuid: str, since: float, until: float, now: float) -> list[GpuSample]:
    """Samples of one GPU in time order, from the finest table that reaches back to `since`."""
    table = table_for("gpu_sample", now - since)
    sql = f"""SELECT ? AS uuid, taken_at, {_SAMPLE} FROM {table}
        WHERE gpu_id = (SELECT id FROM gpu WHERE uuid = ?) AND taken_at >= ? AND taken_at <= ? ORDER BY taken_at"""
    return rows.read(connection, GpuSample, sql, (uuid, uuid, since, until))


def read_processes(connection: sqlite3.Connection) -> list[GpuProcess]:
    """Processes that hold GPU memory now, the largest first."""
    return rows.read(connection, GpuProcess, "SELECT * FROM gpu_process ORDER BY memory_bytes DESC, pid")


def read_health(connection: sqlite3.Connection) -> dict[str, GpuHealth]:
    """The last slow reading of each GPU by UUID."""
    return {row.uuid: row for row in rows.read(connection, GpuHealth, "SELECT * FROM gpu_health")}


def read_events(connection: sqlite3.Connection, limit: int = 100) -> list[GpuEvent]:
    """What happened to GPUs, newest first."""
    return rows.read(connection, GpuEvent, "SELECT * FROM gpu_event ORDER BY id DESC LIMIT ?", (limit,))


def write_status(connection: sqlite3.Connection, status: GpuStatus) -> None:
    """Put the one row of `gpu_status`."""
    connection.execute("DELETE FROM gpu_status")
    rows.insert(connection, "gpu_status", status)


def write_gpus(connection: sqlite3.Connection, gpus: Iterable[Gpu]) -> None:
    """Add GPUs or change the rows of known ones; their number stays."""
    for gpu in gpus:
        known = connection.execute("SELECT id FROM gpu WHERE uuid = ?", (gpu.uuid,)).fetchone()
        if known:
            rows.update(connection, "gpu", known[0], **{name: getattr(gpu, name) for name in gpu.__struct_fields__})
        else:
            rows.insert(connection, "gpu", gpu)


def write_samples(connection: sqlite3.Connection, samples: Iterable[GpuSample]) -> None:
    """Add samples of known GPUs."""
    columns = f"{_SAMPLE}, {_SAMPLE_ONLY}".split(", ")
    marks = ", ".join("?" * len(columns))
    connection.executemany(
        f"""INSERT OR REPLACE INTO gpu_sample (taken_at, gpu_id, {", ".join(columns)})
            SELECT ?, id, {marks} FROM gpu WHERE uuid = ?""",
        [(s.taken_at, *(getattr(s, column) for column in columns), s.uuid) for s in samples],
    )


def write_processes(connection: sqlite3.Connection, processes: Iterable[GpuProcess]) -> None:
    """Replace the whole list."""
    connection.execute("DELETE FROM gpu_process")
    for process in processes:
        rows.replace(connection, "gpu_process", process)


def write_health(connection: sqlite3.Connection, readings: Iterable[GpuHealth]) -> None:
    """Replace the rows of these GPUs."""
    for reading in readings:
        rows.replace(connection, "gpu_health", reading)


def add_events(connection: sqlite3.Connection, events: Iterable[GpuEvent]) -> None:
    """Add events and drop the oldest beyond `EVENTS_KEPT`."""
    last = [rows.insert(connection, "gpu_event", event) for event in events]
    if last:
        connection.execute("DELETE FROM gpu_event WHERE id <= ?", (last[-1] - EVENTS_KEPT,))


def _newest_tick() -> str:
    return f"""SELECT gpu.uuid, taken_at, {_SAMPLE}, {_prefixed()} FROM gpu_sample JOIN gpu ON gpu.id = gpu_id
        WHERE taken_at = (SELECT MAX(taken_at) FROM gpu_sample)"""


def _last_sample(connection: sqlite3.Connection, uuid: str) -> GpuSample | None:
    sql = f"""SELECT gpu.uuid, taken_at, {_SAMPLE}, {_prefixed()} FROM gpu_sample JOIN gpu ON gpu.id = gpu_id
        WHERE gpu.uuid = ? ORDER BY taken_at DESC LIMIT 1"""
    return rows.read_one(connection, GpuSample, sql, (uuid,))


def _prefixed() -> str:
    return ", ".join(f"gpu_sample.{column}" for column in _SAMPLE_ONLY.split(", "))
