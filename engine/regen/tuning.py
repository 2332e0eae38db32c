"""Finds how many requests a server should have at once: more, until more give nothing.

A pure rule over measured levels. Throughput at a level is the tokens of answers that began and ended at it over the
time they took, times the level: independent of how long the answers were.
"""

import math

import msgspec

FIRST, MOST = 16, 1024
GROWTH = 1.5
LEAST_GAIN = 0.05
"""Half as many again must give at least so much more."""
LEAST_SPEED = 5.0
"""Tokens a second of one answer below which more at once would only make all of them late."""
QUEUE_SHARE = 0.1
LEAST_S = 5.0
LEAST_ANSWERS = 12


class Level(msgspec.Struct, frozen=True):
    """What one concurrency gives."""

    at_once: int
    tokens_per_s: float


class Tuning(msgspec.Struct, frozen=True):
    """Where the search stands."""

    at_once: int = FIRST
    before: Level | None = None
    """The best level so far, which the present one must beat."""
    settled: bool = False
    reason: str = "begins here"


class Measured(msgspec.Struct, frozen=True):
    """What was seen at the present level."""

    span_s: float
    answers: int
    tokens: float
    seconds: float
    queued: int | None = None
    overloaded: int = 0
    """Requests that the server turned away as too many (429)."""


def enough(tuning: Tuning, measured: Measured) -> bool:
    """Whether the level has been seen for long enough to judge it."""
    return measured.overloaded > 0 or (
        measured.span_s >= LEAST_S and measured.answers >= max(LEAST_ANSWERS, tuning.at_once // 2)
    )


def judge(tuning: Tuning, measured: Measured, most: int = MOST) -> Tuning:
    """The next level, and why. `most` is the largest that may be tried."""
    if measured.overloaded:
        lower = max(1, tuning.at_once * 2 // 3)
        return Tuning(lower, None, True, f"{tuning.at_once} at once were too many for it (429)")
    if measured.queued is not None and measured.queued > QUEUE_SHARE * tuning.at_once:
        lower = max(1, tuning.at_once - measured.queued)
        return Tuning(lower, None, True, f"at {tuning.at_once} at once {measured.queued} only waited in its queue")
    each = measured.tokens / measured.seconds if measured.seconds > 0 else 0.0
    now = Level(tuning.at_once, each * tuning.at_once)
    if tuning.settled:
        return tuning
    before = tuning.before
    if before is not None and now.tokens_per_s < before.tokens_per_s * (1 + LEAST_GAIN):
        gain = now.tokens_per_s / before.tokens_per_s - 1 if before.tokens_per_s > 0 else 0.0
        why = f"{now.at_once} at once gave {gain:+.0%} beside {before.at_once}"
        return Tuning(before.at_once, before, True, why)
    if each < LEAST_SPEED and before is not None:
        return Tuning(before.at_once, before, True, f"at {now.at_once} at once an answer got {each:.1f} tok/s")
    if tuning.at_once >= most:
        return Tuning(most, now, True, f"{most} at once is the most allowed")
    higher = min(most, math.ceil(tuning.at_once * GROWTH))
    return Tuning(higher, now, False, f"rises: {now.at_once} at once gave {now.tokens_per_s:.0f} tok/s")
