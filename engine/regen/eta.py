"""How long a regeneration will take, from what is known now: plain functions of plain numbers.

Samples that finish first are the short ones, so the mean of the finished alone is too small, most of all at the start.
The mean service time here counts the time that samples in flight have already taken (the censored mean of survival
analysis): it starts right and stays right.
"""

import math
from collections.abc import Sequence

import msgspec

Z_80 = 1.2816
"""Normal quantile: 80 % lie within so many standard deviations."""

LEAST_DRIFT = 0.03
"""Servers are never steadier than this over hours."""

FEWEST_DONE = 5

EARLY = 3.0
"""How much less sure the mean is for each sample in flight beside a finished one: the long ones are not seen yet.
Chosen by simulation (tests/benchmarks/regen_eta.py): the range then holds 3 of 4 ends after 5 % of the work."""


class Eta(msgspec.Struct, frozen=True):
    """Seconds left: the median and the ends of the 80 % range."""

    median_s: float
    low_s: float
    high_s: float


class Service(msgspec.Struct, frozen=True):
    """What is known of how long one sample takes: sums over finished samples, and the ages of those in flight."""

    done: int
    seconds: float
    squares: float
    in_flight: Sequence[float]

    def mean_s(self) -> float:
        """Censored mean of the time that one sample takes."""
        return (self.seconds + sum(self.in_flight)) / self.done

    def variation(self) -> float:
        """Standard deviation over mean of the finished samples."""
        mean = self.seconds / self.done
        return math.sqrt(max(0.0, self.squares / self.done - mean * mean)) / mean if mean > 0 else 0.0


def estimate(service: Service, waiting: int, slots: int, rates: Sequence[float]) -> Eta | None:
    """Time until all is done.

    Args:
        service: Of the samples so far.
        waiting: Samples that are not started.
        slots: How many are asked at once.
        rates: Samples finished a second in windows of the recent past, for the drift of the server's speed.

    Returns `None` while too little is known.
    """
    if waiting == 0 and not service.in_flight:
        return Eta(0.0, 0.0, 0.0)
    if service.done < FEWEST_DONE or service.seconds <= 0:
        return None
    mean, variation = service.mean_s(), service.variation()
    sigma = max(0.05, math.sqrt(math.log1p(variation**2)))
    steady_s = waiting * mean / slots
    left = min(slots, waiting + len(service.in_flight))
    unsure = variation * (1 + EARLY * len(service.in_flight) / service.done)
    spread = math.sqrt(unsure**2 / service.done + drift(rates) ** 2)
    of_all = math.exp(Z_80 * spread)
    of_steady = math.exp(Z_80 * math.hypot(spread, variation / math.sqrt(max(1, waiting))))
    low, median, high = (_drain_s(mean, sigma, left, share) for share in (0.1, 0.5, 0.9))
    return Eta(steady_s + median, steady_s / of_steady + low / of_all, steady_s * of_steady + high * of_all)


def drift(rates: Sequence[float]) -> float:
    """Relative spread of the server's speed over windows of the recent past."""
    used = [rate for rate in rates if rate > 0]
    if len(used) < 3:
        return 0.15
    mean = sum(used) / len(used)
    spread = math.sqrt(sum((rate - mean) ** 2 for rate in used) / (len(used) - 1)) / mean
    return max(LEAST_DRIFT, spread / math.sqrt(len(used)))


def _drain_s(mean: float, sigma: float, left: int, share: float) -> float:
    """Time from when the last sample starts until all of `left` in flight are done, with this probability.

    A slot is more likely to be inside a long sample than a short one: what is left of a sample in flight follows the
    equilibrium distribution of renewal theory, here of log-normal lengths.
    """
    beyond = 1 - share ** (1 / left)
    low, high = 0.0, mean * math.exp(8 * sigma)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _residual_beyond(middle, mean, sigma) > beyond else (low, middle)
    return low


def _residual_beyond(seconds: float, mean: float, sigma: float) -> float:
    """Share of samples in flight that take longer than this from now on."""
    place = math.log(seconds / mean) / sigma
    return _normal(sigma / 2 - place) - seconds / mean * _normal(-sigma / 2 - place)


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
