"""Plots as SVG text, without a library and without a network: points with intervals, joined by lines where asked."""

import math
from collections.abc import Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 150, 16, 44
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#777777")
"""Told apart also by those who do not see all colours (Okabe and Ito)."""


class Mark(msgspec.Struct, frozen=True):
    """One point; the interval is drawn where it is known."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""


class Line(msgspec.Struct, frozen=True):
    """Points of one configuration."""

    name: str
    marks: tuple[Mark, ...]
    joined: bool = True


def plot(lines: Sequence[Line], x_title: str, y_title: str, *, level: float | None = None) -> str:
    """A plot. `level` draws a dashed line across, where equality with the baseline lies."""
    marks = [mark for line in lines for mark in line.marks]
    if not marks:
        return ""
    lows = [mark.y if mark.low is None else mark.low for mark in marks]
    highs = [mark.y if mark.high is None else mark.high for mark in marks]
    bottom, top = min([0.0, *lows]), max([*highs, level or 0.0]) * 1.05 or 1.0
    left, right = min(mark.x for mark in marks), max(mark.x for mark in marks)
    margin = (right - left) * 0.06 or 0.5
    frame = _Frame(left - margin, right + margin, bottom, top)
    parts = [_axes(frame, x_title, y_title, sorted({mark.x for mark in marks}))]
    if level is not None:
        at = frame.y(level)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="level"/>')
    for number, line in enumerate(lines):
        parts.append(_line(frame, line, COLOURS[number % len(COLOURS)], number))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_title)}">{"".join(parts)}</svg>'


class _Frame(msgspec.Struct, frozen=True):
    left: float
    right: float
    bottom: float
    top: float

    def x(self, value: float) -> float:
        return LEFT + (value - self.left) / (self.right - self.left) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.bottom) / (self.top - self.bottom) * (HEIGHT - TOP - BOTTOM)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two values."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    raw = span / count
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw)
    first = math.ceil(low / step)
    return [step * place for place in range(first, math.floor(high / step) + 1)]


def _axes(frame: _Frame, x_title: str, y_title: str, places: Sequence[float]) -> str:
    shown = places if len(places) <= 10 else ticks(frame.left, frame.right)
    parts = []
    for value in ticks(frame.bottom, frame.top):
        at = frame.y(value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in shown:
        parts.append(f'<text x="{frame.x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(
        f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>'
    )
    return "".join(parts)


def _line(frame: _Frame, line: Line, colour: str, number: int) -> str:
    parts = []
    places = [(frame.x(mark.x), frame.y(mark.y)) for mark in line.marks]
    if line.joined and len(places) > 1:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    for (x, y), mark in zip(places, line.marks, strict=True):
        if mark.low is not None and mark.high is not None:
            low, high = frame.y(mark.low), frame.y(mark.high)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}"/>')
        title = escape(mark.label or f"{line.name}: {mark.y:g}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{title}</title></circle>')
    top = TOP + 6 + number * 16
    parts.append(f'<circle cx="{WIDTH - RIGHT + 14}" cy="{top}" r="4" fill="{colour}"/>')
    parts.append(f'<text x="{WIDTH - RIGHT + 24}" y="{top + 4}">{escape(line.name[:20])}</text>')
    return "".join(parts)
