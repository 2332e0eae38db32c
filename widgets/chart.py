"""A line chart with axes, for an opened view. A drawing costs some 13 ms, so there is one in five seconds at most."""

import math
import time
from typing import Any, Literal

import msgspec
from textual_plotext import PlotextPlot

from state.outside_text import plain_line
from widgets.glyphs import ascii_only

REDRAW_S = 5.0
"""At 1 Hz a chart of 160x48 sends more than the whole rest of the console."""

_TICKS = 6
_DAY_S = 86_400
_FRAME_LINES = 5
"""Title, frame and axis of a chart."""
_AXIS_CELLS = 8
"""Frame and figures beside the lines."""
DOTS_A_CELL = 2
_SIGNS = ("*", "+", "o", "x")
"""Of several lines, where colours cannot tell them apart."""


class Series(msgspec.Struct, frozen=True):
    """One line of a chart."""

    name: str
    points: tuple[tuple[float, float | None], ...]
    """Times in seconds since the epoch, or numbers, ascending, and values; `None` breaks the line."""


class ChartRecord(msgspec.Struct, frozen=True):
    """All that a chart draws."""

    title: str
    unit: str
    series: tuple[Series, ...]
    along: Literal["time", "number"] = "time"
    """What the horizontal axis is."""


class Chart(PlotextPlot):
    """Draws the record of the last call of `show`."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.record: ChartRecord | None = None
        self._drawn_at = float("-inf")

    def show(self, record: ChartRecord, *, at_once: bool = False) -> None:
        """Take a new record. It is drawn at once where the last drawing is old enough, else with a later call."""
        changed_subject = self.record is None or record.title != self.record.title
        due = at_once or time.monotonic() - self._drawn_at >= REDRAW_S
        if record == self.record or not (due or changed_subject):
            return
        self.record = record
        self._drawn_at = time.monotonic()
        self._fill_plot(record)
        self.refresh()

    def _fill_plot(self, record: ChartRecord) -> None:
        plot: Any = self.plt
        plot.clear_data()
        plot.title(plain_line(record.title) or None)
        plot.ylabel(plain_line(record.unit) or None)
        several = len(record.series) > 1
        known: list[tuple[float, float]] = []
        for place, series in enumerate(record.series):
            label = plain_line(series.name) if several else None
            marker = self._marker(place, several=several)
            for index, run in enumerate(thinned(unbroken(series.points), self.size.width - _AXIS_CELLS)):
                plot.plot(*zip(*run, strict=True), marker=marker, label=label if index == 0 else None)
                known += run
        if known:
            self._scale(record, [at for at, _ in known], [value for _, value in known])

    def _marker(self, place: int, *, several: bool) -> str:
        if ascii_only() or (several and self.app.no_color):
            return _SIGNS[place % len(_SIGNS)]
        return "braille"

    def _scale(self, record: ChartRecord, along: list[float], values: list[float]) -> None:
        """Round figures at both axes, and room above the lines for their names."""
        plot: Any = self.plt
        axis = ticks if record.along == "time" else number_ticks
        plot.xticks(*axis(min(along), max(along)))
        low, high, rows = min(values), max(values), max(1, self.size.height - _FRAME_LINES)
        plot.yticks(*value_ticks(low, high, min(_TICKS, 1 + rows // 2)))
        names = len(record.series) if len(record.series) > 1 else 0
        if low < high and rows > 3 * names:
            plot.ylim(low, high + (high - low) * names / (rows - names))


def unbroken(points: tuple[tuple[float, float | None], ...]) -> list[list[tuple[float, float]]]:
    """The stretches of points between gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((at, value))
    return [run for run in runs if run]


def thinned(runs: list[list[tuple[float, float]]], cells: int) -> list[list[tuple[float, float]]]:
    """Means of neighbours, one for a cell, where there are more points than dots: else a line is a band."""
    count = sum(map(len, runs))
    if cells <= 0 or count <= DOTS_A_CELL * cells:
        return runs
    size = math.ceil(count / cells)
    return [[_mean(run[start : start + size]) for start in range(0, len(run), size)] for run in runs]


def _mean(points: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(at for at, _ in points) / len(points), sum(value for _, value in points) / len(points)


def ticks(start: float, end: float) -> tuple[list[float], list[str]]:
    """Places on the time axis and their local times: with the date from a day on, with seconds below ten minutes."""
    span = end - start
    form = "%d %b %H:%M" if span >= _DAY_S else "%H:%M:%S" if span < 600 else "%H:%M"
    places = [start + span * step / (_TICKS - 1) for step in range(_TICKS)] if span > 0 else [start]
    return places, [time.strftime(form, time.localtime(place)) for place in places]


def value_ticks(low: float, high: float, most: int = _TICKS) -> tuple[list[float], list[str]]:
    """Round figures between two values, at most so many, and as they are written; of one value that value."""
    if not low < high:
        return [low], [f"{low:,.6g}"]
    rough = (high - low) / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    places = [step * place for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    if not places:
        return [low, high], [f"{low:,.6g}", f"{high:,.6g}"]
    return places, [f"{place:,.{decimals}f}" for place in places]


def number_ticks(start: float, end: float) -> tuple[list[float], list[str]]:
    """Places on an axis of steps or lines."""
    places = sorted({round(start + (end - start) * step / (_TICKS - 1)) for step in range(_TICKS)})
    return [float(place) for place in places], [f"{place:,}" for place in places]
