"""One GPU: all that it reports, its processes, and its past."""

import sqlite3
import time
from typing import Any

from console.screens.charted import ChartedScreen
from console.screens.gpu_facts import event_facts, health_facts
from state.gpus import gpu_history, read_events, read_health
from state.outside_text import plain_line
from state.records.gpus import GpuEvent, GpuHealth, GpuProcess
from state.records.views import GpuRow, GpusView
from widgets import figures
from widgets.chart import ChartRecord, Series
from widgets.facts import Fact

PROCESSES_SHOWN = 8


class GpuScreen(ChartedScreen):
    """Utilisation, memory and power over time, in percent of what the GPU has."""

    TITLE_TEXT = "GPU"
    BELONGS_TO = "GPUs"
    TOPICS = frozenset({"gpus"})

    def __init__(self, row: GpuRow) -> None:
        super().__init__()
        self.row = row
        self._health: GpuHealth | None = None
        self._events: tuple[GpuEvent, ...] = ()

    def title_text(self) -> str:
        """Index and name."""
        return plain_line(f"GPU {self.row.gpu.index}  {self.row.gpu.shown_name}", 100)

    def take(self, topic: str, record: GpusView) -> None:
        """Show this GPU as it stands now."""
        self.row = next((row for row in record.rows if row.gpu.uuid == self.row.gpu.uuid), self.row)
        self.show_facts()

    def facts(self) -> tuple[Fact, ...]:
        """Readings and processes."""
        gpu, sample = self.row.gpu, self.row.sample
        if sample is None:
            return (("state", "no reading yet"),)
        clocks = f"SM {figures.megahertz(sample.sm_clock_mhz)}, memory {figures.megahertz(sample.memory_clock_mhz)}"
        temperatures = (
            f"core {figures.celsius(sample.temperature_c)}, memory {figures.celsius(sample.memory_temperature_c)}"
        )
        power = f"{figures.watts(sample.power_w)} of {figures.watts(sample.power_limit_w or gpu.power_limit_w)}"
        memory = figures.binary_bytes_of(sample.memory_used_bytes, sample.memory_total_bytes or gpu.memory_total_bytes)
        reserved = figures.binary_bytes(sample.memory_reserved_bytes)
        age = figures.age(time.time() - sample.taken_at)
        return (
            ("read", age if gpu.lost_at is None else f"LOST {figures.age(time.time() - gpu.lost_at)}; last read {age}"),
            ("busy", f"{figures.percent(sample.utilization_percent)}   memory {memory}, driver {reserved}"),
            ("power", f"{power}   {temperatures}   fan {figures.percent(sample.fan_percent)}"),
            ("clocks", clocks + (f"   ! {self.row.slowed}" if self.row.slowed else "")),
            ("identity", f"{gpu.uuid}   {gpu.pci_bus_id or figures.ABSENT}"),
            *health_facts(gpu, self._health),
            *event_facts(self._events),
            *[("process", _process(one)) for one in self.row.processes[:PROCESSES_SHOWN]],
        )  # fmt: skip

    def read_chart(self, database: sqlite3.Connection, span_s: float, now: float, name: str) -> ChartRecord:
        """Three lines in percent; what is read seldom comes with them."""
        self._health = read_health(database).get(self.row.gpu.uuid)
        self._events = tuple(one for one in read_events(database) if one.uuid == self.row.gpu.uuid)
        samples = gpu_history(database, self.row.gpu.uuid, now - span_s, now, now)
        total = self.row.gpu.memory_total_bytes
        limit = self.row.gpu.power_limit_w

        def line(title: str, of: Any) -> Series:
            return Series(title, tuple((sample.taken_at, of(sample)) for sample in samples))

        lines = [line("busy", lambda sample: sample.utilization_percent)]
        if total:
            lines.append(line("memory", lambda s: _share(s.memory_used_bytes, total)))
        if limit:
            lines.append(line("power", lambda s: _share(s.power_w, limit)))
        return ChartRecord(f"{self.title_text()}, last {name}", "%", tuple(lines))


def _share(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole * 100


def _process(process: GpuProcess) -> str:
    who = f"{process.user or figures.ABSENT}   {process.command or 'in another PID namespace'}"
    job = f"   job {process.job_id}" if process.job_id is not None else ""
    return plain_line(f"{process.pid}   {figures.binary_bytes(process.memory_bytes)}   {who}{job}")
