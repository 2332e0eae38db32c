"""Series of the figures in a job's log, bounded whatever the log's length, and read piece by piece as it grows."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from engine.jobs.log_metrics import Axis, metrics_of
from state.outside_text import plain_text

MOST_POINTS = 600
"""Of a series; more than a chart has columns. Beyond it neighbours are joined into their mean."""
RECENT_POINTS = 240
"""Of a series, as they were read, beside the means of all."""
MOST_SERIES = 64
PIECE_BYTES = 1 << 20
FIRST_BYTES = 256 << 20
"""Of a log that is opened first: what lies before is passed over. Alula's own logs are no longer than this."""
LONGEST_LINE = 16 << 10
MOST_BARS = 256
"""Drawings of progress bars in a piece that are looked at."""
_MARKS = re.compile(rb"(?:Decode|Prefill) batch|step \d+: \{|Eval - Step \d|%\|")
"""What a line holds that has figures; looking for it is faster than looking at lines."""


class MetricSeries(msgspec.Struct, frozen=True):
    """One figure over time or steps."""

    source: str
    name: str
    along: Axis
    points: tuple[tuple[float, float], ...]
    count: int
    """Of the lines that it came from; its points may be means of several."""
    last: float
    least: float
    greatest: float
    recent: tuple[tuple[float, float], ...] = ()
    """The newest points, none of them a mean."""


class Growing:
    """A series that takes values for ever and keeps a bounded number of points."""

    def __init__(self, source: str, name: str, along: Axis) -> None:
        self.source, self.name, self.along = source, name, along
        self.count, self.last = 0, 0.0
        self.least, self.greatest = float("inf"), float("-inf")
        self._points: list[tuple[float, float]] = []
        self._stride = 1
        self._open: list[tuple[float, float]] = []
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT_POINTS)

    def add(self, at: float, value: float) -> None:
        """Take the next value. One of a step that was there before takes its place: every rank prints the line."""
        if self.along == "step" and self._open and self._open[-1][0] == at:
            self._open[-1] = self._recent[-1] = (at, value)
            self.last = value
            return
        self.count += 1
        self.last, self.least, self.greatest = value, min(self.least, value), max(self.greatest, value)
        if len(self._open) >= self._stride:
            self._close()
        self._open.append((at if self.along != "line" else float(self.count), value))
        self._recent.append(self._open[-1])

    def series(self) -> MetricSeries:
        """As it stands now."""
        points = (*self._points, *([_mean(self._open)] if self._open else []))
        return MetricSeries(
            self.source, self.name, self.along, points, self.count, self.last, self.least, self.greatest,
            tuple(self._recent),
        )  # fmt: skip

    def _close(self) -> None:
        self._points.append(_mean(self._open))
        self._open = []
        if len(self._points) >= MOST_POINTS:
            self._points = [_mean(self._points[place : place + 2]) for place in range(0, len(self._points), 2)]
            self._stride *= 2


class LogMetrics:
    """Takes a log in pieces, gives series."""

    def __init__(self, patterns: Iterable[re.Pattern[str]] = ()) -> None:
        self._patterns = tuple(patterns)
        self._mark = None if self._patterns else _MARKS
        self._rest = b""
        self._series: dict[tuple[str, str, Axis], Growing] = {}

    def push(self, piece: bytes) -> None:
        """Take a piece; a line may end in a later one. Carriage returns end lines too."""
        text = self._rest + piece
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        self._rest = text[end:][-LONGEST_LINE:]
        for line in self._candidates(text[:end]):
            if figures := metrics_of(plain_text(line.decode(errors="replace")), self._patterns):
                for name, value in figures.values.items():
                    if growing := self._growing(figures.source, name, figures.along):
                        growing.add(figures.at, value)

    def series(self) -> list[MetricSeries]:
        """All series so far, in the order in which they first came."""
        return [growing.series() for growing in self._series.values()]

    def _candidates(self, text: bytes) -> Iterable[bytes]:
        if self._mark is None:
            yield from (line for line in re.split(rb"[\r\n]+", text) if 0 < len(line) <= LONGEST_LINE)
            return
        position, stride = 0, len(text) // MOST_BARS
        while found := self._mark.search(text, position):
            lowest = max(position, found.start() - LONGEST_LINE)
            start = max(text.rfind(b"\n", lowest, found.start()), text.rfind(b"\r", lowest, found.start()), lowest - 1)
            ends = [place for mark in (b"\n", b"\r") if (place := text.find(mark, found.end())) >= 0]
            position = min(ends, default=len(text)) + 1
            if position - start <= LONGEST_LINE:
                yield text[start + 1 : position - 1]
            if found[0] == b"%|" and text[position - 1 : position] == b"\r":
                position = _later_drawing(text, position, stride)

    def _growing(self, source: str, name: str, along: Axis) -> Growing | None:
        key = (source, name, along)
        if key not in self._series and len(self._series) < MOST_SERIES:
            self._series[key] = Growing(*key)
        return self._series.get(key)


class LogMetricsReader:
    """Reads a job's log and its older pieces once, then what is added. For one thread."""

    def __init__(self, log: Path, patterns: Sequence[re.Pattern[str]] = (), first_bytes: int = FIRST_BYTES) -> None:
        self._log = log
        self._first_bytes = first_bytes
        self.skipped = 0
        """Bytes of the log that were passed over because it is longer than `first_bytes`."""
        self._metrics = LogMetrics(patterns)
        self._offset: int | None = None
        self._older: list[tuple[Path, int]] = []

    def read(self, most_bytes: int | None = None) -> bool:
        """Read on, at most so many bytes. `True` where there is more."""
        if self._offset is None:
            self._begin()
        left = most_bytes if most_bytes is not None else 1 << 62
        while self._older and left > 0:
            path, offset = self._older[0]
            piece = _piece(path, offset)
            self._older = [(path, offset + len(piece)), *self._older[1:]] if piece else self._older[1:]
            self._metrics.push(piece)
            left -= len(piece)
        while left > 0 and (piece := self._next()):
            self._metrics.push(piece)
            left -= len(piece)
        return left <= 0

    def series(self) -> list[MetricSeries]:
        """What was found so far."""
        return self._metrics.series()

    def _begin(self) -> None:
        older = [self._log.with_name(f"{self._log.stem}.{number}{self._log.suffix}") for number in (3, 2, 1)]
        sizes = [(path, _size(path)) for path in (*older, self._log)]
        skipped = self.skipped = max(0, sum(size for _, size in sizes) - self._first_bytes)
        starts = []
        for path, size in sizes:
            starts.append((path, min(skipped, size)))
            skipped -= starts[-1][1]
        self._older, self._offset = [start for start in starts[:-1] if start[0].exists()], starts[-1][1]

    def _next(self) -> bytes:
        assert self._offset is not None
        if _size(self._log) < self._offset:  # it was rotated: what came between the looks is in the newest older piece
            older = self._log.with_name(f"{self._log.stem}.1{self._log.suffix}")
            missed = _piece(older, self._offset, _size(older))
            self._offset = 0
            if missed:
                return missed
        piece = _piece(self._log, self._offset)
        self._offset += len(piece)
        return piece


def _later_drawing(text: bytes, position: int, stride: int) -> int:
    """Of a bar that is drawn again and again within a line, not every drawing is looked at, but always the last one."""
    end = text.find(b"\n", position)
    last = text.rfind(b"\r", position, (end if end >= 0 else len(text)) - 1) + 1
    return max(position, min(position + stride, last))


def _mean(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return points[-1][0], sum(value for _, value in points) / len(points)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _piece(path: Path, offset: int, count: int = PIECE_BYTES) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(count)
    except OSError:
        return b""
