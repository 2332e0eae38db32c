"""When a regeneration will be done, from what is known now: plain functions of plain numbers.

Tokens still to come, source by source, over the speed that is to be expected; then the drain, when nothing is left to
start and the last answers finish one after another.
"""

import math
from collections.abc import Sequence

import msgspec

from engine.regen.drain import drain_known, drain_steady
from engine.regen.lengths import FEWEST_DONE, Lengths, LengthSums, fit, together
from engine.regen.speed import Forecast, Window, forecast

Z_90 = 1.645
"""Normal quantile: 90 % lie within so many standard deviations."""


class Source(msgspec.Struct, frozen=True):
    """What is known of one source."""

    name: str
    sums: LengthSums
    waiting: int
    """Samples that are not started."""
    ages_s: Sequence[float]
    """How long each of its samples in flight has been at it."""
    paces: Sequence[float] = ()
    """How fast each one's server is beside all servers together; 1 for each where not given."""

    def flights(self, each: float) -> list[tuple[float, float]]:
        """Of each sample in flight: tokens by now, and the pace. `each`: tokens a second of an answer, on average."""
        paces = self.paces or [1.0] * len(self.ages_s)
        return [(age_s * pace * each, pace) for age_s, pace in zip(self.ages_s, paces, strict=True)]


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
    flights = [source.flights(each) for source in sources]
    everything = fit(sums, [tokens for some in flights for tokens, _ in some], cap)
    if everything is None or each <= 0:
        return None
    known = [
        (source, some, fit(source.sums, [tokens for tokens, _ in some], cap) or everything)
        for source, some in zip(sources, flights, strict=True)
    ]
    ahead = _ahead(known)
    left = min(slots, waiting + in_flight)
    steady = max(0.0, ahead.waiting + ahead.in_flight - ahead.in_steady_flight * left / max(1, in_flight))
    expected = forecast(windows, steady / (each * max(1, slots)))
    if expected is None:
        return None
    paces = [pace for some in flights for _, pace in some] or [1.0]
    mean_pace = sum(paces) / len(paces)  # early on the slow servers have finished less than their share
    expected = Forecast(expected.tokens_per_s * mean_pace, expected.spread)
    in_the_end = [(lengths, some) for _, some, lengths in known]
    drain = drain_steady(everything, paces, each, left) if waiting else drain_known(in_the_end, each, everything)
    return _put_together(steady if waiting else 0.0, ahead, expected, drain, everything.mean)


def _ahead(known: Sequence[tuple[Source, Sequence[tuple[float, float]], Lengths]]) -> _Ahead:
    waiting = variance = in_flight = steady = 0.0
    for source, flights, lengths in known:
        answered = source.sums.count / max(1, source.sums.count + source.sums.failed)
        count = source.waiting * answered
        waiting += count * lengths.mean
        variance += lengths.deviation**2 * (count**2 / lengths.known + count)
        in_flight += sum(lengths.expected(tokens) - tokens for tokens, _ in flights)
        if flights:
            steady += len(flights) * (lengths.mean + lengths.deviation**2 / max(1e-9, lengths.mean)) / 2
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
