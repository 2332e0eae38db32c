"""The project's widgets alone, under the load of an overview: 8 GPUs with histories and a jobs table, at 1 Hz."""

import random
import sys
import time

import msgspec
from textual.app import App, ComposeResult
from textual.containers import Grid

from widgets.bar import bar
from widgets.columns import Column
from widgets.figures import binary_bytes_of, celsius_column, duration, percent_column, rate, watts_column
from widgets.history import HistorySeries, history_lines
from widgets.line import Line
from widgets.pane import Pane
from widgets.table import Table
from widgets.terminal.driver import choose_driver


class Gpu(msgspec.Struct, frozen=True):
    at: float
    utilization: int
    power: float


class Job(msgspec.Struct, frozen=True):
    id: int
    progress: float
    left_s: float


class GpuPane(Pane[Gpu]):
    def __init__(self, index: int) -> None:
        super().__init__(Gpu(time.time(), 80, 455), title=f"GPU {index} NVIDIA H200")
        self.series = HistorySeries()

    def show(self, record: Gpu) -> None:
        self.series.add(record.at, float(record.utilization))
        super().show(record)

    def lines(self, width: int, height: int) -> list[Line]:
        assert self.record is not None
        figures = f"{percent_column(self.record.utilization)} {watts_column(self.record.power)} {celsius_column(67)}"
        memory = binary_bytes_of(118 * 2**30, 141 * 2**30)
        return [figures, bar(84, width, "$primary", memory), *history_lines(self.series, width, height - 2)]


COLUMNS = [
    Column[Job]("ID", lambda job: str(job.id), 4, "right"),
    Column[Job]("Name", lambda job: f"job-{job.id}", 20, grows=True),
    Column[Job]("Progress", lambda job: bar(job.progress, 24), 24),
    Column[Job]("Rate", lambda job: rate(830), 12, "right"),
    Column[Job]("Left", lambda job: duration(job.left_s), 12, "right"),
]


class WidgetsApp(App[None]):
    def __init__(self, jobs: int) -> None:
        super().__init__(driver_class=choose_driver())
        self.jobs = [Job(index, 100, 0) for index in range(2, jobs + 1)]

    CSS = "Grid { grid-size: 4 2; height: 14; } GpuPane { border: round $primary; } .-narrow Grid { grid-size: 2 4; }"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        with Grid():
            for index in range(8):
                yield GpuPane(index)
        yield Table(COLUMNS, key=lambda job: job.id)

    def on_mount(self) -> None:
        self.random = random.Random(1)
        self.values = [80] * 8
        self.left_s = 100_000.0
        self.panes = list(self.query(GpuPane))
        self.table: Table[Job] = self.query_one(Table)
        for past in range(600, 0, -1):
            self.tick(time.time() - past)
        self.set_interval(1, lambda: self.tick(time.time()))

    def tick(self, now: float) -> None:
        self.left_s -= 1
        for index, pane in enumerate(self.panes):
            self.values[index] = max(0, min(100, self.values[index] + self.random.randint(-4, 4)))
            pane.show(Gpu(now, self.values[index], 300 + 3.0 * self.values[index]))
        self.table.show([Job(1, 49 + (100_000 - self.left_s) / 10_000, self.left_s), *self.jobs])


if __name__ == "__main__":
    WidgetsApp(int(sys.argv[1])).run()
