"""How fast the servers work over hours, and how far one may trust that: windows of equal length over a whole run."""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

FIRST_WINDOW_S = 20.0
MOST_WINDOWS = 240
RECENT_S = 300.0
UNKNOWN_SPREAD = 0.12
"""Relative error assumed of a speed of which fewer than `FEWEST_WINDOWS` windows are known."""
FEWEST_WINDOWS = 6
DRIFT, DRIFT_LASTS_S = 0.04, 1200.0
"""Slow swings and rare stalls that a short past cannot have shown: assumed, and believed the less the longer it is.
Chosen by simulation (tests/benchmarks/regen_eta.py): the 90 % range holds nine ends of ten after 5 % of the work."""


class Window(msgspec.Struct, frozen=True):
    """What finished in one span of time."""

    span_s: float
    tokens: float
    seconds: float
    """Time that the finished samples had taken, waits in tries included."""
    busy: float
    """Samples in flight, on average."""


class Forecast(msgspec.Struct, frozen=True):
    """Speed of the time to come."""

    tokens_per_s: float
    spread: float
    """Its standard deviation over its mean."""


class SpeedHistory:
    """All windows since the speed last changed for a known reason. When there are too many, pairs become one."""

    def __init__(self) -> None:
        self.window_s = FIRST_WINDOW_S
        self.windows: list[Window] = []

    def restart(self) -> None:
        """Servers or concurrency changed: what was measured before says nothing about now."""
        self.window_s = FIRST_WINDOW_S
        self.windows = []

    def add(self, window: Window) -> None:
        """The newest window."""
        self.windows.append(window)
        if len(self.windows) > MOST_WINDOWS:
            pairs = zip(self.windows[::2], self.windows[1::2], strict=False)
            odd = self.windows[len(self.windows) // 2 * 2 :]
            self.windows = [merged(pair) for pair in pairs] + odd
            self.window_s *= 2


def merged(windows: Sequence[Window]) -> Window:
    """Several windows as one."""
    span_s = sum(window.span_s for window in windows)
    busy = sum(window.busy * window.span_s for window in windows) / span_s if span_s > 0 else 0.0
    return Window(span_s, sum(window.tokens for window in windows), sum(window.seconds for window in windows), busy)


def rate(window: Window) -> float | None:
    """Tokens a second of all slots together. A ratio of two sums over the same samples: their lengths cancel out."""
    return window.tokens / window.seconds * window.busy if window.seconds > 0 else None


def forecast(windows: Sequence[Window], horizon_s: float) -> Forecast | None:
    """Mean speed over the next `horizon_s`: the long average, drawn towards the recent one as far as that will last.

    Its spread comes from means over batches of windows, so that swings slower than a window are counted.
    Returns `None` where nothing has finished.
    """
    whole = rate(merged(windows)) if windows else None
    if not whole:
        return None
    rates = [found for window in windows if (found := rate(window)) is not None]
    if len(rates) < FEWEST_WINDOWS:
        return Forecast(whole, UNKNOWN_SPREAD)
    window_s = sum(window.span_s for window in windows) / len(windows)
    lasts = _lasts_s(rates, window_s)
    weight = min(1.0, lasts / horizon_s * -math.expm1(-horizon_s / lasts)) if horizon_s > 0 else 1.0
    recent = rate(merged(windows[-max(1, round(RECENT_S / window_s)) :])) or whole
    ahead = max(1.0, horizon_s / window_s)
    scatter = _long_variance(rates) * (1 / len(rates) + 1 / ahead) / whole**2
    found = whole + weight * (recent - whole)
    return Forecast(found, min(0.6, math.sqrt(scatter + _unseen_drift(len(rates) * window_s, horizon_s))))


def _unseen_drift(past_s: float, horizon_s: float) -> float:
    """Relative variance that slow swings add beyond what the past shows."""
    past, ahead = (min(1.0, 2 * DRIFT_LASTS_S / max(1.0, span_s)) for span_s in (past_s, horizon_s))
    return DRIFT**2 * past * (1 + ahead)


def _lasts_s(rates: Sequence[float], window_s: float) -> float:
    """How long a departure from the mean lasts, from the correlation of neighbouring windows."""
    mean = sum(rates) / len(rates)
    square = sum((value - mean) ** 2 for value in rates)
    if square <= 0:
        return window_s
    beside = sum((one - mean) * (two - mean) for one, two in pairwise(rates)) / square
    return min(len(rates) * window_s / 4, -window_s / math.log(min(0.999, max(0.05, beside))))


def _long_variance(rates: Sequence[float]) -> float:
    """Variance that a mean over many windows has, times their number: the largest over batch lengths."""
    size, largest = 1, 0.0
    while len(rates) // size >= 8 or size == 1:
        means = [sum(rates[at : at + size]) / size for at in range(0, len(rates) - size + 1, size)]
        mean = sum(means) / len(means)
        largest = max(largest, size * sum((value - mean) ** 2 for value in means) / (len(means) - 1))
        size *= 2
    return largest
