"""From the series of a log to charts: which lines belong together, in what order, with what units."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from engine.jobs.log_series import MetricSeries
from state.outside_text import plain_line
from widgets import figures
from widgets.chart import ChartRecord, Series

_FIRST = ("tokens_per_s", "accept_length", "loss", "accuracy", "accept_rate", "percent")
"""What is looked at first; the rest follows as the log brings it."""
_TITLES = {
    "tokens_per_s": "throughput", "input_tokens_per_s": "input throughput", "running": "running requests",
    "queued": "queued requests", "lr": "learning rate", "percent": "progress", "per_s": "speed",
}  # fmt: skip
_UNITS = {
    "tokens_per_s": "tok/s", "input_tokens_per_s": "tok/s", "accept_length": "tok", "percent": "%", "per_s": "a second",
}  # fmt: skip
_UNSAID = frozenset({"decode", "train", "pattern", "progress"})
_RANK = re.compile(r"(.+) (DP\d+)")
_POSITION = re.compile(r"(.+)_(\d+)")
LONGEST_TITLE = 40
IDLE_S = 30.0
"""A silence as long as this may be a usual one."""


class MetricChart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that are drawn together."""

    title: str
    name: str
    """The figure's, as in the log."""
    unit: str
    lines: tuple[tuple[str, MetricSeries], ...]
    """Each with its label: a rank, a position, or nothing."""


def charts_of(series: Sequence[MetricSeries], units: Mapping[str, str] | None = None) -> tuple[MetricChart, ...]:
    """Figures by position share a chart, as do those of several ranks. A line of one value has a chart too."""
    found: dict[tuple[str, str, str], list[tuple[str, MetricSeries]]] = {}
    for one in series:
        source, name, label = _parts(one)
        found.setdefault((source, name, one.along), []).append((label, one))
    known = {**_UNITS, **(units or {})}
    charts = [
        MetricChart(title=_title(source, name, lines), name=name, unit=known.get(name, ""), lines=tuple(lines))
        for (source, name, _), lines in found.items()
    ]
    return tuple(sorted(charts, key=lambda one: _FIRST.index(one.name) if one.name in _FIRST else len(_FIRST)))


def record_of(chart: MetricChart, *, newest: bool) -> ChartRecord:
    """What is drawn: all of the log, or its newest values. The unit stands in the heading."""
    by_time = chart.lines[0][1].along == "time"
    drawn = [(label, one.recent if newest else one.points) for label, one in chart.lines]
    lines = tuple(Series(label, broken(points) if by_time else points) for label, points in drawn)
    return ChartRecord("", "", lines, "time" if by_time else "number")


def broken(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float | None], ...]:
    """A gap where a server was idle and printed nothing: far longer than it is usually silent."""
    silences = sorted(after[0] - before[0] for before, after in pairwise(points))
    if not silences:
        return tuple(points)
    longest = max(IDLE_S, 10 * silences[len(silences) // 2])
    drawn: list[tuple[float, float | None]] = [points[0]]
    for before, after in pairwise(points):
        if not 0 <= after[0] - before[0] <= longest:
            drawn.append((after[0], None))
        drawn.append(after)
    return tuple(drawn)


def heading(chart: MetricChart, place: int, count: int, *, newest: bool, skipped: int) -> str:
    """One line above the chart: what it is, how it stands, which of how many."""
    words = [f"{chart.title}{f', {chart.unit}' if chart.unit else ''}"]
    if len(chart.lines) == 1:
        one = chart.lines[0][1]
        mean = sum(value for _, value in one.points) / len(one.points)
        words.append(f"last {one.last:.4g}  mean {mean:.4g}  {one.least:.4g} to {one.greatest:.4g}")
    else:
        words.append("last " + " ".join(f"{one.last:.4g}" for _, one in chart.lines[:8]))
    window = f"newest {len(chart.lines[0][1].recent)}" if newest else "whole log"
    if skipped and not newest:
        window = f"without the first {figures.binary_bytes(skipped)}"
    words += [window, f"m: {place + 1} of {count}"]
    return "  ".join(words)


def _parts(series: MetricSeries) -> tuple[str, str, str]:
    """Source, name and the label within the chart."""
    if found := _RANK.fullmatch(series.source):
        return found[1], series.name, found[2]
    if found := _POSITION.fullmatch(series.name):
        return series.source, f"{found[1]} by position", found[2]
    return series.source, series.name, ""


def _title(source: str, name: str, lines: Sequence[tuple[str, MetricSeries]]) -> str:
    words = _TITLES.get(name, name.replace("_", " "))
    by_rank = " by rank" if lines[0][0].startswith("DP") else ""
    return plain_line((f"{words}{by_rank}" if source in _UNSAID else f"{source}: {words}{by_rank}"), LONGEST_TITLE)
