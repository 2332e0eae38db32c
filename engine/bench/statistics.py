"""Percentiles and bootstrap intervals."""

from array import array
from functools import lru_cache
from typing import Any

import msgspec

from engine.bench.economics import Estimate

RESAMPLES = 2000
SEED = 20251
MOST_GROUPS = 4096
"""More requests than these are resampled in equal groups, which bounds the memory."""


class Percentiles:
    """Percentiles of a stream in bounded memory: exact up to `most_kept` values, then of an even subset of them."""

    def __init__(self, most_kept: int) -> None:
        self._kept = array("d")
        self._limit, self._stride, self._seen = most_kept, 1, 0
        self.most: float | None = None

    def add(self, value: float) -> None:
        """Take one."""
        if self.most is None or value > self.most:
            self.most = value
        if self._seen % self._stride == 0:
            self._kept.append(value)
            if len(self._kept) >= self._limit:
                self._kept, self._stride = self._kept[::2], self._stride * 2
        self._seen += 1

    def at(self, percent: float) -> float | None:
        """One percentile; `None` where there was no value."""
        import numpy

        return float(numpy.percentile(self._kept, percent)) if self._kept else None


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over all requests."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float


def spread(values: Any) -> Spread | None:
    """Exact percentiles (numpy, linear interpolation); `None` where there is no value."""
    import numpy

    found = numpy.asarray(values, dtype=float)
    if not found.size:
        return None
    p50, p90, p95, p99 = (float(one) for one in numpy.percentile(found, (50, 90, 95, 99)))
    return Spread(mean=float(found.mean()), p50=p50, p90=p90, p95=p95, p99=p99, most=float(found.max()))


def ratio_estimate(above: Any, below: Any, scale: float = 1.0) -> Estimate | None:
    """Sum over sum, with a 95 % interval by resampling the pairs; `None` where there is nothing to divide by."""
    import numpy

    top, bottom = numpy.asarray(above, dtype=float), numpy.asarray(below, dtype=float)
    if not top.size or bottom.sum() <= 0:
        return None
    value = float(top.sum() / bottom.sum()) * scale
    if top.size < 2:
        return Estimate(value)
    weights = _weights(top.size)
    grouped_top, grouped_bottom = _grouped(top), _grouped(bottom)
    resampled = weights @ grouped_top / numpy.maximum(weights @ grouped_bottom, 1e-12) * scale
    return _interval(value, resampled)


def share_estimates(histograms: Any) -> tuple[Estimate, ...]:
    """Marginal accept rates by position, from one histogram a request, resampled by request."""
    import numpy

    table = numpy.asarray(histograms, dtype=float)
    if table.ndim != 2 or not table.size or table.sum() <= 0:
        return ()
    at_least = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    rounds = at_least[:, 0]
    return tuple(
        estimate
        for position in range(1, table.shape[1])
        if (estimate := ratio_estimate(at_least[:, position], rounds)) is not None
    )


def _interval(value: float, resampled: Any) -> Estimate:
    import numpy

    low, high = (float(one) for one in numpy.percentile(resampled, (2.5, 97.5)))
    return Estimate(value, low, high)


@lru_cache(2)
def _weights(count: int) -> Any:
    import numpy

    groups = min(count, MOST_GROUPS)
    return numpy.random.default_rng(SEED).multinomial(groups, [1 / groups] * groups, size=RESAMPLES).astype(float)


def _grouped(values: Any) -> Any:
    import numpy

    if values.size <= MOST_GROUPS:
        return values
    return numpy.array([part.sum() for part in numpy.array_split(values, MOST_GROUPS)])
