"""Accept length against its own past."""

from math import exp

import msgspec

USUAL_S, RECENT_S = 1800.0, 120.0
LEAST_OBSERVED_S = 600.0
_FALLEN = 0.7
"""Recent gain over 1.0, as a share of the usual gain, under which it has fallen."""
_WORTH = 1.3
"""A usual accept length under this has nothing to lose."""


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """Two running means over the time in which requests ran."""

    usual: float | None = None
    recent: float | None = None
    observed_s: float = 0.0


def follow(trend: Trend, length: float, elapsed_s: float) -> Trend:
    """Take one more measurement, `elapsed_s` after the one before (at most ten seconds of it count)."""
    elapsed = min(max(elapsed_s, 0.0), 10.0)
    if trend.usual is None or trend.recent is None:
        return Trend(usual=length, recent=length, observed_s=elapsed)
    observed = trend.observed_s + elapsed
    # A mean over all that was seen so far, until that is longer than the time constant.
    usual_weight = 1 - exp(-elapsed / min(USUAL_S, max(observed, 1.0)))
    recent_weight = 1 - exp(-elapsed / RECENT_S)
    return Trend(
        usual=trend.usual + (length - trend.usual) * usual_weight,
        recent=trend.recent + (length - trend.recent) * recent_weight,
        observed_s=observed,
    )


def has_fallen(trend: Trend) -> bool:
    """Whether the last minutes gain far less than is usual here."""
    if trend.usual is None or trend.recent is None or trend.observed_s < LEAST_OBSERVED_S:
        return False
    return trend.usual >= _WORTH and trend.recent - 1 < _FALLEN * (trend.usual - 1)
