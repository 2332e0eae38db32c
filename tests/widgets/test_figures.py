"""Figures are short, never wrong by their unit, and never anything but text."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets import figures

ONE_VALUE = [
    figures.percent, figures.share, figures.count, figures.binary_bytes, figures.rate, figures.byte_rate, figures.watts,
    figures.celsius, figures.megahertz, figures.milliseconds, figures.duration, figures.clock, figures.eta, figures.age,
]  # fmt: skip
COLUMNS = [(figures.percent_column, 5), (figures.watts_column, 6), (figures.celsius_column, 6)]
anything = st.one_of(st.none(), st.floats(), st.integers(-(10**18), 10**18))


@pytest.mark.parametrize("figure", ONE_VALUE)
def test_what_is_absent_is_a_dash(figure: Callable[[float | None], str]) -> None:
    for value in (None, math.nan, math.inf, -math.inf):
        assert figure(value) == "–"


@pytest.mark.parametrize(("column", "cells"), COLUMNS)
@given(value=anything)
def test_a_column_always_has_its_width(column: Callable[[float | None], str], cells: int, value: float | None) -> None:
    assert len(column(value)) == cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (figures.percent(87.4), "87 %"),
        (figures.percent(-0.2), "0 %"),
        (figures.share(0.9999), "99 %"),
        (figures.share(1), "100 %"),
        (figures.count(88_088), "88,088"),
        (figures.binary_bytes(512), "512 B"),
        (figures.binary_bytes(1023.7), "1.0 KiB"),
        (figures.binary_bytes(61.2 * 2**30), "61.2 GiB"),
        (figures.binary_bytes(1023.96 * 2**30), "1.0 TiB"),
        (figures.binary_bytes_of(61.2 * 2**30, 80 * 2**30), "61.2/80.0 GiB"),
        (figures.binary_bytes_of(None, 80 * 2**30), "–/80.0 GiB"),
        (figures.rate(830), "830 tok/s"),
        (figures.rate(999.7), "1.0k tok/s"),
        (figures.rate(12_400), "12.4k tok/s"),
        (figures.rate(0.42, "req/s"), "0.42 req/s"),
        (figures.milliseconds(0.0042), "4.2 ms"),
        (figures.milliseconds(12.5), "12.5 s"),
        (figures.duration(59.9), "59 s"),
        (figures.duration(720), "12 min"),
        (figures.duration(11_100), "3 h 05 min"),
        (figures.duration(100_800), "1 d 04 h"),
        (figures.clock(3_845), "1:04:05"),
        (figures.clock(245), "4:05"),
        (figures.eta(11_100, 9_600, 15_000), "3 h 05 min (2 h 40 min to 4 h 10 min)"),
        (figures.eta(11_100, None, 15_000), "3 h 05 min"),
        (figures.age(0.4), "now"),
        (figures.age(3.9), "3 s ago"),
        (figures.stale("87 %", 2, 5), "87 %"),
        (figures.stale("87 %", 12, 5), "87 % (12 s ago)"),
        (figures.stale("87 %", None, 5), "87 % (age unknown)"),
        (figures.stale("–", 12, 5), "–"),
        (figures.left_column("a long name", 6), "a lon…"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    assert text == expected


@given(st.floats(0, 2**69))
def test_bytes_have_at_most_four_digits_and_stay_within_five_percent(value: float) -> None:
    number, unit = figures.binary_bytes(value).split()
    assert len(number.replace(".", "")) <= 4
    scale = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].index(unit)
    assert abs(float(number) * scale - value) <= max(0.05 * value, 0.5)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_longer_time_never_reads_shorter(one: float, other: float) -> None:
    def seconds(text: str) -> int:
        units = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
        words = text.split()
        return sum(int(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True))

    shorter, longer = sorted((one, other))
    assert seconds(figures.duration(shorter)) <= seconds(figures.duration(longer)) <= longer


@given(st.floats(0, 0.999999999))
def test_a_share_below_one_is_never_drawn_as_all(value: float) -> None:
    assert figures.share(value) != "100 %"
    assert figures.share(value, 1) != "100.0 %"
