"""Every figure that a screen or command prints, as text. `None` becomes `–`; nothing here knows of a screen.

Functions named `…_column` pad to a fixed number of cells, so that a figure that changes does not move its neighbours.
"""

import math

ABSENT = "–"
"""Drawn in place of a value that is not reported."""

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_RATE_UNITS = ("", "k", "M", "G", "T")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def is_figure(value: float | None) -> bool:
    """Whether a value can be drawn: it is neither absent nor infinite nor not-a-number."""
    return value is not None and math.isfinite(value)


def fixed(value: float | None, decimals: int = 0, unit: str = "") -> str:
    """A number with a fixed count of decimals, and its unit after a space: `3.20 tok`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return f"{text} {unit}" if unit else text


def percent(value: float | None, decimals: int = 0) -> str:
    """A value that is already in percent: `87 %`."""
    return fixed(value, decimals, "%")


def share(value: float | None, decimals: int = 0) -> str:
    """A fraction from 0 to 1, as percent: 0.87 is `87 %`. A share below 1 never rounds up to `100 %`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    scaled = value * 100
    if value < 1:
        scaled = min(scaled, 100 - 10.0**-decimals)
    return percent(scaled, decimals)


def count(value: float | None) -> str:
    """A whole number with its digits in groups of three: `88,088`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{round(value):,}"


def binary_bytes(value: float | None) -> str:
    """Bytes in powers of 1,024 with three digits: `61.2 GiB`, `512 B`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    amount, unit = _scaled(value, 1024, _BINARY_UNITS)
    return f"{_three_digits(amount) if unit != 'B' else round(amount)} {unit}"


def binary_bytes_of(used: float | None, total: float | None) -> str:
    """Used of total in the unit of the total: `61.2/80.0 GiB`."""
    if total is None or not math.isfinite(total):
        return binary_bytes(used)
    amount, unit = _scaled(total, 1024, _BINARY_UNITS)
    if used is None or not math.isfinite(used):
        return f"{ABSENT}/{_three_digits(amount)} {unit}"
    divisor = 1024 ** _BINARY_UNITS.index(unit)
    decimals = 0 if unit == "B" or abs(amount) >= 99.95 else 1
    return f"{used / divisor:.{decimals}f}/{amount:.{decimals}f} {unit}"


def rate(value: float | None, unit: str = "tok/s") -> str:
    """So many a second: `830 tok/s`, `12.4k tok/s`, `0.42 req/s`."""
    if value is None or not math.isfinite(value):
        return ABSENT
    amount, prefix = _scaled(value, 1000, _RATE_UNITS)
    number = f"{amount:.2f}" if abs(amount) < 9.995 and not prefix else _three_digits(amount)
    if not prefix and abs(amount) >= 99.95:
        number = f"{amount:.0f}"
    return f"{number}{prefix} {unit}".strip()


def byte_rate(value: float | None) -> str:
    """Bytes a second: `3.1 MiB/s`."""
    return ABSENT if not is_figure(value) else f"{binary_bytes(value)}/s"


def watts(value: float | None) -> str:
    """Power: `455 W`."""
    return fixed(value, 0, "W")


def celsius(value: float | None) -> str:
    """Temperature: `67 °C`."""
    return fixed(value, 0, "°C")


def megahertz(value: float | None) -> str:
    """A clock: `1980 MHz`."""
    return fixed(value, 0, "MHz")


def milliseconds(seconds: float | None) -> str:
    """A latency given in seconds: `84 ms`, `4.2 ms`, from ten seconds on `12.5 s`."""
    if seconds is None or not math.isfinite(seconds):
        return ABSENT
    if abs(seconds) >= 10:
        return fixed(seconds, 1, "s")
    thousandths = seconds * 1000
    return fixed(thousandths, 1 if abs(thousandths) < 9.95 else 0, "ms")


def duration(seconds: float | None) -> str:
    """Two units at most, cut and not rounded: `42 s`, `12 min`, `3 h 05 min`, `1 d 04 h`."""
    if seconds is None or not math.isfinite(seconds):
        return ABSENT
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR:02d} h"


def clock(seconds: float | None) -> str:
    """Elapsed time to the second: `4:05`, `1:04:05`, `2 d 01:04:05`."""
    if seconds is None or not math.isfinite(seconds):
        return ABSENT
    whole = max(0, int(seconds))
    days, hours, minutes = whole // _DAY, whole % _DAY // _HOUR, whole % _HOUR // _MINUTE
    if days:
        return f"{days} d {hours:02d}:{minutes:02d}:{whole % 60:02d}"
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def eta(median_s: float | None, low_s: float | None = None, high_s: float | None = None) -> str:
    """Time left, with its range where that says more: `3 h 05 min (2 h 40 min to 4 h 10 min)`."""
    if not is_figure(median_s):
        return ABSENT
    low, high = duration(low_s), duration(high_s)
    if ABSENT in (low, high) or low == high:
        return duration(median_s)
    return f"{duration(median_s)} ({low} to {high})"


def age(seconds: float | None) -> str:
    """How long ago: `now`, `3 s ago`, `2 h 10 min ago`."""
    if seconds is None or not math.isfinite(seconds):
        return ABSENT
    return "now" if seconds < 1 else f"{duration(seconds)} ago"


def stale(text: str, age_s: float | None, limit_s: float) -> str:
    """The text as it is while fresh; once older than `limit_s`, or of unknown age, marked: `87 % (12 s ago)`."""
    if age_s is not None and age_s <= limit_s:
        return text
    return text if text == ABSENT else f"{text} ({age(age_s) if age_s is not None else 'age unknown'})"


def right_column(text: str, cells: int) -> str:
    """Put the text at the right of exactly `cells` cells; one that does not fit is cut at its end and marked `…`."""
    return _cut(text, cells).rjust(cells)


def left_column(text: str, cells: int) -> str:
    """Put the text at the left of exactly `cells` cells; one that does not fit is cut at its end and marked `…`."""
    return _cut(text, cells).ljust(cells)


def percent_column(value: float | None) -> str:
    """A percentage in five cells: `100 %`, ` 87 %`."""
    return right_column(percent(value), 5)


def watts_column(value: float | None) -> str:
    """Power in six cells: `1000 W`, ` 455 W`."""
    return right_column(watts(value), 6)


def celsius_column(value: float | None) -> str:
    """Temperature in six cells: `100 °C`, ` 67 °C`."""
    return right_column(celsius(value), 6)


def _scaled(value: float, step: int, units: tuple[str, ...]) -> tuple[float, str]:
    """Divide until three digits hold it. 1023.96 counts as the next unit, because it would round up to four digits."""
    index = 0
    limit = step - 0.5 if step == 1024 else 999.5
    while abs(value) >= limit and index < len(units) - 1:
        value /= step
        index += 1
    return value, units[index]


def _three_digits(amount: float) -> str:
    return f"{amount:.1f}" if abs(amount) < 99.95 else f"{amount:.0f}"


def _cut(text: str, cells: int) -> str:
    if len(text) <= cells:
        return text
    return f"{text[: cells - 1]}…" if cells > 0 else ""
