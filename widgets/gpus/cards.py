"""A GPU in one line of figures, and below it, where there is room, a chart of its utilisation."""

import time

from textual.content import Content

from state.records.gpus import GpuSample
from state.records.views import GpuRow
from widgets import figures
from widgets.bar import bar
from widgets.gpus.columns import index_text, memory_total, work_text
from widgets.history import trend_cell, trend_rows
from widgets.line import Line, aligned

STALE_S = 5.0
LINES_OF_CARD = 3
"""Figures and two rows of chart."""
_WIDE = 110
_CHART_INDENT = 5
_CHART_CELLS = 120
"""Twenty minutes, which is as much as records carry."""


def card(row: GpuRow, width: int, height: int) -> list[Line]:
    """One GPU in at most `height` lines of `width` cells."""
    if row.gpu.lost_at is not None or row.sample is None:
        return _gone(row, height)
    lines: list[Line] = [_figures(row, row.sample, width, with_trend=height == 1)]
    if height > 1:
        details = _details(row, row.sample)
        cells = min(_CHART_CELLS, max(8, width - _CHART_INDENT - details.cell_length - 3))
        charts = trend_rows(row.trend, cells, height - 1)
        for place, chart in enumerate(charts):
            line = Content.assemble(" " * _CHART_INDENT, (chart, "$primary"))
            lines.append(aligned(line + Content("  ") + details if place == len(charts) - 1 else line, width))
    return lines


def temperature(row: GpuRow) -> Content:
    """The core's, marked within five degrees of where it slows itself down."""
    celsius = row.sample.temperature_c if row.sample else None
    hot = celsius is not None and celsius >= (row.gpu.slowdown_c or 90.0) - 5
    return Content.styled(figures.celsius_column(celsius), "$error" if hot else "")


def _figures(row: GpuRow, sample: GpuSample, width: int, *, with_trend: bool) -> Content:
    wide = width >= _WIDE
    parts = [Content(f" {index_text(row):>2} "), _utilisation(sample, width)]
    if with_trend:
        parts += [Content(" "), trend_cell(row.trend, 24 if wide else 10 if width >= 72 else 4)]
    parts += [Content("  "), _memory(row, sample, wide), Content(f"  {figures.watts_column(sample.power_w)} ")]
    parts += [temperature(row), Content("  ")]
    age_s = time.time() - sample.taken_at
    if age_s > STALE_S:
        parts.append(Content.styled(f"{figures.age(age_s)}  ", "$warning"))
    work = work_text(row)
    parts.append(work if row.work or row.slowed or not wide else Content(row.gpu.shown_name))
    return aligned(Content("").join(parts), width)


def _utilisation(sample: GpuSample, width: int) -> Content:
    wide = width >= _WIDE
    cells = 26 if wide else 14 if width >= 72 else 6
    return bar(sample.utilization_percent, cells, "$success", whole_cells=not wide)


def _memory(row: GpuRow, sample: GpuSample, wide: bool) -> Content:
    used, total = sample.memory_used_bytes, memory_total(row)
    share = used / total * 100 if used is not None and total else None
    figure = figures.right_column(figures.binary_bytes_of(used, total), 12)
    return bar(share, (18 if wide else 2) + len(figure), "$secondary", figure)


def _details(row: GpuRow, sample: GpuSample) -> Content:
    parts = [
        f"SM {figures.megahertz(sample.sm_clock_mhz)}",
        f"HBM {figures.celsius(sample.memory_temperature_c)}",
        f"of {figures.watts(sample.power_limit_w or row.gpu.power_limit_w)}",
    ]
    if sample.fan_percent is not None:
        parts.append(f"fan {figures.percent(sample.fan_percent)}")
    return Content.styled("  ".join(parts), "$text-muted")


def _gone(row: GpuRow, height: int) -> list[Line]:
    lost = row.gpu.lost_at
    word = "no reading yet" if lost is None else f"LOST {figures.age(time.time() - lost)}"
    return [Content.styled(f" {index_text(row):>2} {row.gpu.shown_name}  {word}", "$error"), *[""] * (height - 1)]
