"""Columns of the tables of GPUs and of the processes on them."""

from textual.content import Content

from state.records.gpus import GpuSample
from state.records.views import GpuRow
from widgets import figures
from widgets.columns import Column


def _sample(row: GpuRow) -> GpuSample:
    return row.sample or GpuSample(uuid=row.gpu.uuid, taken_at=0)


def _name(row: GpuRow) -> Content:
    lost = row.gpu.lost_at is not None
    return Content.styled(f"{row.gpu.name}{' LOST' if lost else ''}", "$error" if lost else "")


def _memory(row: GpuRow) -> str:
    return figures.binary_bytes_of(
        _sample(row).memory_used_bytes, _sample(row).memory_total_bytes or row.gpu.memory_total_bytes
    )


GPU_COLUMNS: tuple[Column[GpuRow], ...] = (
    Column("GPU", lambda row: str(row.gpu.index), 3, "right", sort_key=lambda row: row.gpu.index),
    Column("Name", _name, 14, priority=1, grows=True),
    Column("Util", lambda row: figures.percent(_sample(row).utilization_percent), 5, "right",
           sort_key=lambda row: _sample(row).utilization_percent),
    Column("Memory", _memory, 14, "right", sort_key=lambda row: _sample(row).memory_used_bytes),
    Column("Power", lambda row: figures.watts(_sample(row).power_w), 6, "right",
           sort_key=lambda row: _sample(row).power_w),
    Column("Core", lambda row: figures.celsius(_sample(row).temperature_c), 6, "right",
           sort_key=lambda row: _sample(row).temperature_c),
    Column("HBM", lambda row: figures.celsius(_sample(row).memory_temperature_c), 6, "right", 5),
    Column("SM clock", lambda row: figures.megahertz(_sample(row).sm_clock_mhz), 8, "right", 4),
    Column("Fan", lambda row: figures.percent(_sample(row).fan_percent), 5, "right", 7),
    Column("Slowed by", lambda row: Content.styled(row.slowed, "$error"), 16, priority=3, grows=True),
    Column("Work", lambda row: row.work or "idle", 16, priority=2, grows=True),
)  # fmt: skip
