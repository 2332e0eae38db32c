"""The last readings of one value as a chart of characters that moves rarely, so that it costs few bytes."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile

from textual.content import Content

from widgets.braille import columns, readings_per_cell
from widgets.line import Line
from widgets.pane import Pane

STEP_S = 5.0
"""Seconds between two readings of a trend: one cell holds two, so twelve cells are two minutes."""

Sample = tuple[float, float | None]
"""A time in seconds and a reading."""


class HistorySeries:
    """Readings, averaged over slots of `slot_s` seconds. Only the newest slot changes between two slots."""

    def __init__(self, slot_s: float = 5.0, kept: int = 720) -> None:
        self.slot_s = slot_s
        self._slots: deque[tuple[int, float, int]] = deque(maxlen=kept)

    def add(self, at: float, reading: float | None) -> None:
        """Take a reading; one that is older than the newest slot is left out."""
        slot = int(at // self.slot_s)
        if not self._slots or slot > self._slots[-1][0]:
            self._slots.append((slot, reading or 0.0, int(reading is not None)))
        elif slot == self._slots[-1][0] and reading is not None:
            _, total, count = self._slots[-1]
            self._slots[-1] = (slot, total + reading, count + 1)

    def extend(self, samples: Iterable[Sample]) -> None:
        """Take many, oldest first."""
        for at, reading in samples:
            self.add(at, reading)

    def last(self, count: int) -> list[float | None]:
        """The mean of each of the last slots, oldest first; `None` where nothing was read.

        The chart moves by whole cells: with two readings to a cell it is filled in place for two slots, then moves.
        """
        if not self._slots:
            return [None] * count
        step = readings_per_cell()
        end = (self._slots[-1][0] // step + 1) * step
        recent = takewhile(lambda slot: slot[0] >= end - count, reversed(self._slots))
        known = {slot: total / readings for slot, total, readings in recent if readings}
        return [known.get(slot) for slot in range(end - count, end)]


def history_lines(
    series: HistorySeries, width: int, height: int, top: float | None = 100.0, style: str = "$primary"
) -> list[Line]:
    """Draw a series in one colour. `top` of `None` fits the highest reading in sight."""
    readings = series.last(width * readings_per_cell())
    limit = top if top is not None else max((reading for reading in readings if reading is not None), default=0.0)
    return [Content.styled(row, style) for row in columns(readings, height, limit)]


def trend_cell(points: Sequence[Sample], width: int, top: float | None = 100.0) -> Content:
    """Draw means over steps of `STEP_S` seconds, oldest first, in one row of `width` cells."""
    (row,) = trend_rows(points, width, 1, top)
    return Content.styled(row, "$primary")


def trend_rows(points: Sequence[Sample], width: int, height: int, top: float | None = 100.0) -> list[str]:
    """The same in several rows."""
    series = HistorySeries(STEP_S)
    series.extend(points[-width * readings_per_cell() :])
    readings = series.last(width * readings_per_cell())
    limit = top if top is not None else max((reading for reading in readings if reading is not None), default=0.0)
    return columns(readings, height, limit)


class History(Pane[Sequence[Sample]]):
    """A pane that draws the samples it is shown; each call gives the whole window or only what is new."""

    def __init__(
        self, *, top: float | None = 100.0, slot_s: float = 5.0, style: str = "$primary", title: str | None = None,
        name: str | None = None, id: str | None = None, classes: str | None = None,
    ) -> None:  # fmt: skip
        """Make a chart; `top` is the reading that fills it, `None` to fit, `slot_s` how often it moves."""
        super().__init__((), title=title, name=name, id=id, classes=classes)
        self.series = HistorySeries(slot_s)
        self.top = top
        self.colour = style

    def show(self, record: Sequence[Sample]) -> None:
        """Add samples, oldest first."""
        self.series.extend(record)
        self.redraw()

    def lines(self, width: int, height: int) -> list[Line]:
        """The newest samples, as many as there is room for."""
        return history_lines(self.series, width, height, self.top, self.colour)
