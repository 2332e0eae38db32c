"""When a regeneration will be done, from what is known now: plain functions of plain numbers.

Tokens still to come, source by source, over the speed that is to be expected; then the drain, when nothing is left to
start and the last answers finish one after another.
"""

import math
from collections.abc import Sequence

import msgspec

from engine.regen.lengths import FEWEST_DONE, Lengths, LengthSums, fit, together
from engine.regen.speed import Forecast, Window, forecast

Z_90 = 1.645
"""Normal quantile: 90 % lie within so many standard deviations."""

FASTER_ALONE = (0.4, 0.25, 0.1)
"""An answer's speed grows as the batch shrinks, with about this power of it: at best, as expected, at worst."""

_LEVELS = (0.05, 0.5, 0.95)
_STEPS = 48


class Source(msgspec.Struct, frozen=True):
    """What is known of one source."""

    name: str
    sums: LengthSums
    waiting: int
    """Samples that are not started."""
    ages_s: Sequence[float]
    """How long each of its samples in flight has been at it."""


class Eta(msgspec.Struct, frozen=True):
    """Seconds left, and what they rest on."""

    median_s: float
    low_s: float
    high_s: float
    """Ends of the 90 % range."""
    tokens_left: float = 0.0
    tokens_per_s: float = 0.0
    mean_tokens: float = 0.0
    """Mean length of the answers still to come."""
    drain_s: float = 0.0
    """Of the median: from when the last sample starts."""


class _Ahead(msgspec.Struct, frozen=True):
    """Tokens to come, and how unsure they are."""

    waiting: float
    variance: float
    in_flight: float
    in_steady_flight: float
    """What the same number of answers in flight has to come at a moment of steady work."""


def estimate(sources: Sequence[Source], windows: Sequence[Window], slots: int, cap: float) -> Eta | None:
    """Time until all is done.

    Args:
        sources: Each source of the run.
        windows: Speed so far, oldest first.
        slots: How many samples are asked at once.
        cap: Longest answer, in tokens.

    Returns `None` while too little is known.
    """
    waiting = sum(source.waiting for source in sources)
    in_flight = sum(len(source.ages_s) for source in sources)
    if waiting == 0 and in_flight == 0:
        return Eta(0.0, 0.0, 0.0)
    sums = together([source.sums for source in sources])
    seconds, busy = sum(window.seconds for window in windows), windows[-1].busy if windows else 0.0
    if sums.count < FEWEST_DONE or seconds <= 0 or busy <= 0:
        return None
    each = sum(window.tokens for window in windows) / seconds
    everything = fit(sums, [age * each for source in sources for age in source.ages_s], cap)
    if everything is None or each <= 0:
        return None
    known = [(source, fit(source.sums, [age * each for age in source.ages_s], cap) or everything) for source in sources]
    ahead = _ahead(known, each)
    left = min(slots, waiting + in_flight)
    steady = max(0.0, ahead.waiting + ahead.in_flight - ahead.in_steady_flight * left / max(1, in_flight))
    expected = forecast(windows, steady / (each * max(1, slots)))
    if expected is None:
        return None
    drain = _drain(known, everything, each, left, waiting)
    return _put_together(steady if waiting else 0.0, ahead, expected, drain, everything.mean)


def _ahead(known: Sequence[tuple[Source, Lengths]], each: float) -> _Ahead:
    waiting = variance = in_flight = steady = 0.0
    for source, lengths in known:
        answered = source.sums.count / max(1, source.sums.count + source.sums.failed)
        count = source.waiting * answered
        waiting += count * lengths.mean
        variance += lengths.deviation**2 * (count**2 / lengths.known + count)
        in_flight += sum(lengths.expected(age * each) - age * each for age in source.ages_s)
        steady += len(source.ages_s) * (lengths.mean + lengths.deviation**2 / lengths.mean) / 2
    return _Ahead(waiting, variance, in_flight, steady)


def _put_together(
    steady: float, ahead: _Ahead, expected: Forecast, drain: tuple[float, float, float], mean: float
) -> Eta:
    low_drain, median_drain, high_drain = drain
    steady_s = steady / expected.tokens_per_s
    lengths = math.sqrt(ahead.variance) / ahead.waiting if ahead.waiting > 0 else 0.0
    factor = math.exp(Z_90 * math.hypot(lengths, expected.spread))
    below = math.hypot(steady_s * (1 - 1 / factor), median_drain - low_drain)
    above = math.hypot(steady_s * (factor - 1), high_drain - median_drain)
    median_s = steady_s + median_drain
    return Eta(
        median_s=median_s,
        low_s=max(0.0, median_s - below),
        high_s=median_s + above,
        tokens_left=ahead.waiting + ahead.in_flight,
        tokens_per_s=expected.tokens_per_s,
        mean_tokens=mean,
        drain_s=median_drain,
    )


def _drain(
    known: Sequence[tuple[Source, Lengths]], everything: Lengths, each: float, left: int, waiting: int
) -> tuple[float, float, float]:
    """Low, median and high time from when the last sample starts until the last answer has ended."""
    top = min(everything.cap, math.exp(everything.log_mean + 6 * everything.log_sigma))
    depths = [top * (step / _STEPS) ** 2 for step in range(_STEPS + 1)]
    if waiting:
        alive = [left * everything.residual_beyond(depth) for depth in depths]
        none_alive = [(1 - count / left) ** left for count in alive]
    else:
        each_alive = [_still(lengths, age * each, depths) for source, lengths in known for age in source.ages_s]
        alive = [sum(one[step] for one in each_alive) for step in range(len(depths))]
        none_alive = [math.prod(1 - one[step] for one in each_alive) for step in range(len(depths))]
    low, median, high = (
        _time_to(depths, alive, none_alive, each, level, power)
        for level, power in zip(_LEVELS, FASTER_ALONE, strict=True)
    )
    return min(low, median), median, max(median, high)


def _still(lengths: Lengths, age: float, depths: Sequence[float]) -> list[float]:
    """Chance that an answer which has `age` tokens now has more than each of these to come."""
    now = lengths.beyond(age)
    if now < 1e-9:
        return [1.0, *[0.0] * (len(depths) - 1)]
    return [min(1.0, lengths.beyond(age + depth) / now) for depth in depths]


def _time_to(
    depths: Sequence[float],
    alive: Sequence[float],
    none_alive: Sequence[float],
    each: float,
    level: float,
    power: float,
) -> float:
    """Time until no answer is left with the chance `level`; the fewer are left, the faster each goes."""
    taken = 0.0
    for step in range(1, len(depths)):
        share = 1.0
        if none_alive[step] >= level:
            grown = none_alive[step] - none_alive[step - 1]
            share = (level - none_alive[step - 1]) / grown if grown > 0 else 1.0
        speed = each * (alive[0] / max(1.0, alive[step])) ** power
        taken += max(0.0, share) * (depths[step] - depths[step - 1]) / speed
        if none_alive[step] >= level:
            break
    return taken
