"""Percentiles from Prometheus histograms: buckets of all series merged, over a sliding window."""

from collections import deque
from collections.abc import Iterable, Mapping

from engine.watch.metrics_text import Point

WINDOW_S = 30.0
Buckets = Mapping[float, float]
"""Upper bound to cumulative count."""


def merge_buckets(points: Iterable[Point]) -> Buckets:
    """Sum the `_bucket` points of one histogram over every label but `le`."""
    merged: dict[float, float] = {}
    for point in points:
        try:
            bound = float(point.labels["le"])
        except (KeyError, ValueError):
            continue
        merged[bound] = merged.get(bound, 0.0) + point.value
    return merged


def difference(newer: Buckets, older: Buckets) -> Buckets | None:
    """What was counted in between; `None` where a count fell, as after a restart."""
    counted = {bound: count - older.get(bound, 0.0) for bound, count in newer.items()}
    return None if any(count < 0 for count in counted.values()) else counted


def quantile(buckets: Buckets, share: float) -> float | None:
    """Linear within the bucket, as Prometheus' `histogram_quantile`; the highest finite bound where it lies beyond all.

    `None` where nothing was counted.
    """
    bounds = sorted(buckets)
    total = buckets[bounds[-1]] if bounds else 0.0
    if total <= 0:
        return None
    wanted, below_bound, below_count = share * total, 0.0, 0.0
    for bound in bounds:
        count = buckets[bound]
        if count >= wanted and count > below_count:
            if bound == float("inf"):
                return below_bound
            return below_bound + (bound - below_bound) * (wanted - below_count) / (count - below_count)
        below_bound, below_count = (bound if bound != float("inf") else below_bound), count
    return below_bound


class Window:
    """The last thirty seconds of one histogram."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Buckets]] = deque()

    def add(self, clock: float, buckets: Buckets) -> Buckets:
        """Take the present counts and give what was counted within the window."""
        if self._seen and difference(buckets, self._seen[-1][1]) is None:
            self._seen.clear()
        self._seen.append((clock, buckets))
        while len(self._seen) > 2 and self._seen[1][0] <= clock - WINDOW_S:
            self._seen.popleft()
        return difference(buckets, self._seen[0][1]) or {}
