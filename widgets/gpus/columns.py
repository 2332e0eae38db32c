"""Columns of the table of GPUs."""

import time

from textual.content import Content

from state.records.gpus import GpuSample
from state.records.views import GpuRow
from widgets import figures
from widgets.columns import Column
from widgets.history import trend_cell

TREND_CELLS = 12
"""Two minutes."""


def index_text(row: GpuRow) -> str:
    """The GPU's number as `nvidia-smi` has it; a MIG instance stands below its GPU with its own."""
    return str(row.gpu.index) if row.gpu.parent_uuid is None else f"·{row.gpu.index}"


def work_text(row: GpuRow) -> Content:
    """What it is busy with, after what is wrong with it."""
    if row.gpu.lost_at is not None:
        return Content.styled(f"LOST {figures.age(time.time() - row.gpu.lost_at)}", "$error")
    work = row.work or "idle"
    return Content.assemble((f"! {row.slowed}  ", "$error"), work) if row.slowed else Content(work)


def memory_total(row: GpuRow) -> int | None:
    """Memory in bytes, by the newest sample where that has it: MIG instances come and go."""
    return (row.sample.memory_total_bytes if row.sample else None) or row.gpu.memory_total_bytes


def _sample(row: GpuRow) -> GpuSample:
    return row.sample or GpuSample(uuid=row.gpu.uuid, taken_at=0)


def _memory(row: GpuRow) -> str:
    return figures.binary_bytes_of(_sample(row).memory_used_bytes, memory_total(row))


GPU_COLUMNS: tuple[Column[GpuRow], ...] = (
    Column("GPU", index_text, 3, "right", sort_key=lambda row: row.gpu.index),
    Column("Name", lambda row: row.gpu.shown_name, 24, priority=3, sort_key=lambda row: row.gpu.name),
    Column("Util", lambda row: figures.percent(_sample(row).utilization_percent), 5, "right",
           sort_key=lambda row: _sample(row).utilization_percent),
    Column("Trend", lambda row: trend_cell(row.trend, TREND_CELLS), TREND_CELLS, priority=1),
    Column("Memory", _memory, 14, "right", sort_key=lambda row: _sample(row).memory_used_bytes),
    Column("Power", lambda row: figures.watts(_sample(row).power_w), 6, "right",
           sort_key=lambda row: _sample(row).power_w),
    Column("Core", lambda row: figures.celsius(_sample(row).temperature_c), 6, "right",
           sort_key=lambda row: _sample(row).temperature_c),
    Column("HBM", lambda row: figures.celsius(_sample(row).memory_temperature_c), 6, "right", 5,
           sort_key=lambda row: _sample(row).memory_temperature_c),
    Column("SM clock", lambda row: figures.megahertz(_sample(row).sm_clock_mhz), 8, "right", 4,
           sort_key=lambda row: _sample(row).sm_clock_mhz),
    Column("Fan", lambda row: figures.percent(_sample(row).fan_percent), 5, "right", 7, if_any=True),
    Column("Work", work_text, 16, priority=2, grows=True, sort_key=lambda row: row.work),
)  # fmt: skip
