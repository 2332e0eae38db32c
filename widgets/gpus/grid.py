"""Many GPUs: cells side by side, columns filled from above, as wide as lets all of them fit."""

import time
from collections.abc import Sequence

from textual.content import Content

from state.records.views import GpuRow
from widgets import figures
from widgets.gpus.cards import STALE_S, temperature
from widgets.gpus.columns import index_text, work_text
from widgets.history import trend_cell
from widgets.line import Line, aligned

_NARROWEST, _WIDEST = 16, 60
_GIB = 1 << 30


def across(count: int, width: int, height: int) -> int:
    """How many cells stand side by side: enough for all to fit, and no cell wider than is of use."""
    most = max(1, width // _NARROWEST)
    return min(most, max(-(-count // max(1, height)), -(-width // _WIDEST)))


def grid_lines(count: int, width: int, height: int) -> int:
    """Lines that all cells take, where there are at most `height`."""
    return min(height, -(-count // across(count, width, height)))


def grid(rows: Sequence[GpuRow], width: int, height: int) -> list[Line]:
    """Every GPU in a cell, in at most `height` lines; the last says how many did not fit."""
    cells = across(len(rows), width, height)
    down = -(-len(rows) // cells)
    if down > height:
        down = max(0, height - 1)
    shown, cell_width = rows[: cells * down], width // cells
    lines: list[Line] = []
    for y in range(down):
        line = [aligned(_cell(row, cell_width), cell_width) for row in shown[y::down]]
        lines.append(Content("").join(line))
    if len(shown) < len(rows):
        lines.append(Content.styled(f" {len(rows) - len(shown)} more GPUs: press 2", "$text-muted"))
    return lines


def _cell(row: GpuRow, width: int) -> Content:
    head, sample = f" {index_text(row):>2} ", row.sample
    if row.gpu.lost_at is not None or sample is None:
        return Content.styled(f"{head}{'LOST' if row.gpu.lost_at is not None else 'no reading'}", "$error")
    if time.time() - sample.taken_at > STALE_S:
        return Content.assemble(head, (figures.age(time.time() - sample.taken_at), "$warning"))
    trend = 1 if width < 20 else 2 if width < 26 else 4 if width < 36 else 8
    parts = [Content(head), trend_cell(row.trend, trend), _utilisation(row), temperature(row)]
    if width >= 28:
        parts.append(Content(_gibibytes(sample.memory_used_bytes)))
    if width >= 36:
        parts.append(Content(f" {figures.watts_column(sample.power_w)}"))
    if width >= 48 or (row.slowed and width >= 36):
        parts += [Content(" "), work_text(row)]
    elif row.slowed:
        parts.append(Content.styled("!", "$error"))
    return Content("").join(parts)


def _utilisation(row: GpuRow) -> Content:
    value = row.sample.utilization_percent if row.sample else None
    return Content.styled(figures.percent_column(value), "$success" if value else "$text-muted")


def _gibibytes(value: int | None) -> str:
    return f"{figures.ABSENT if value is None else round(value / _GIB)}G".rjust(6)
