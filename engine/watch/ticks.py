"""One beat for all watchers, so that the readings of one second belong together."""

import time

WRITE_PHASE_S = 0.1
"""The writer and the judge follow the watchers by this much, so that a second's readings are written in that second."""
_LEAST_S = 0.05


def until_tick(period_s: float, phase_s: float = 0.0) -> float:
    """Seconds until the next beat of this period; a beat that is nearly due counts as taken."""
    wait = period_s - (time.monotonic() - phase_s) % period_s
    return wait if wait >= _LEAST_S else wait + period_s
