"""GPUs on the overview: a line each, with a history where there is room, or one clear word why there are none."""

import time

from textual.content import Content

from state.records.gpus import GpuStatus
from state.records.views import GpuRow, GpusView
from widgets import figures
from widgets.bar import bar
from widgets.history import HistorySeries, history_lines
from widgets.line import Line, aligned
from widgets.pane import Pane

STALE_S = 5.0
HISTORY_CELLS = 24


class GpuList(Pane[GpusView]):
    """One line for each GPU; the last line says how many did not fit."""

    DEFAULT_CSS = "GpuList { height: auto; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._histories: dict[str, HistorySeries] = {}

    def show(self, record: GpusView) -> None:
        """Take new samples, and add them to the histories."""
        for row in record.rows:
            if row.sample is not None:
                series = self._histories.setdefault(row.gpu.uuid, HistorySeries())
                series.add(row.sample.taken_at, row.sample.utilization_percent)
        super().show(record)

    def wanted_lines(self) -> int:
        """How many lines would show everything."""
        return max(1, len(self.record.rows)) if self.record is not None else 1

    def lines(self, width: int, height: int) -> list[Line]:
        """As many GPUs as there are lines."""
        if self.record is None or self.record.status is None:
            return [Content.styled(" GPUs  no reading yet", "$text-muted")]
        if not self.record.rows:
            return _absence(self.record.status, height)
        rows = self.record.rows
        shown = rows if len(rows) <= height else rows[: max(0, height - 1)]
        lines: list[Line] = [self._line(row, width) for row in shown]
        if len(shown) < len(rows):
            lines.append(Content.styled(f" {len(rows) - len(shown)} more GPUs: press 2", "$text-muted"))
        return lines

    def _line(self, row: GpuRow, width: int) -> Content:
        gpu, sample = row.gpu, row.sample
        if gpu.lost_at is not None or sample is None:
            word = "LOST" if gpu.lost_at is not None else "no reading yet"
            since = f" {figures.age(time.time() - gpu.lost_at)}" if gpu.lost_at is not None else ""
            return Content.assemble((f" {gpu.index:>2} {gpu.name}  {word}{since}", "$error"))
        age_s = time.time() - sample.taken_at
        line = Content.assemble(
            f" {gpu.index:>2} ",
            bar(sample.utilization_percent, 16 if width < 110 else 26, "$success", whole_cells=width < 110),
            "  ",
            _memory(row, width),
            f"  {figures.watts_column(sample.power_w)} ",
            _temperature(row),
            "  ",
        )
        if age_s > STALE_S:
            line += Content.styled(f"{figures.age(age_s)}  ", "$warning")
        if row.slowed:
            line += Content.styled(f"! {row.slowed}  ", "$error")
        if width >= 110:
            line += self._history(gpu.uuid) + Content("  ")
        return aligned(line + Content(row.work or _name(row, width)), width)

    def _history(self, uuid: str) -> Content:
        drawn = history_lines(self._histories[uuid], HISTORY_CELLS, 1)[0]
        assert isinstance(drawn, Content)
        return drawn


def _memory(row: GpuRow, width: int) -> Content:
    sample = row.sample
    assert sample is not None
    used, total = sample.memory_used_bytes, sample.memory_total_bytes or row.gpu.memory_total_bytes
    share = used / total * 100 if used is not None and total else None
    figure = figures.right_column(figures.binary_bytes_of(used, total), 12)
    return bar(share, 12 + len(figure) if width < 110 else 18 + len(figure), "$secondary", figure)


def _temperature(row: GpuRow) -> Content:
    assert row.sample is not None
    celsius = row.sample.temperature_c
    limit = row.gpu.slowdown_c or 90.0
    hot = celsius is not None and celsius >= limit - 5
    return Content.styled(figures.celsius_column(celsius), "$error" if hot else "")


def _name(row: GpuRow, width: int) -> str:
    return row.gpu.name if width >= 100 else "idle"


def _absence(status: GpuStatus, height: int) -> list[Line]:
    lines: list[Line] = [Content.assemble((" GPUs  ", "bold"), (status.message, ""))]
    if status.remedy and height > 1:
        lines.append(Content.styled(f"       {status.remedy}", "$text-muted"))
    return lines
