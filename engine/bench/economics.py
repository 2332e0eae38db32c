"""What a measured speed and accept length say of break-even. Plain functions of plain figures.

With T0 seconds a plain decode step, Ts seconds a round of draft and verify, and tau the accept length (tokens committed
a verification, the bonus token counted): baseline = 1/T0, speculative = tau/Ts. A round costs c = Ts/T0 baseline steps,
so the speed-up is tau/c and the break-even accept length is c itself. This needs no model of the hardware. The same
relation with modelled costs stands in Leviathan et al. (arXiv 2211.17192, section 3.3). c depends on engine, hardware,
batch, context and draft shape, and hardly on which weights the draft has: c from one run foretells a retrained draft.
"""

import math

import msgspec

WANTED_SPEEDUPS = (1.2, 1.5, 2.0)
SECONDS_A_DAY = 86_400.0
JOULES_A_KWH = 3_600_000.0


class Estimate(msgspec.Struct, frozen=True):
    """A figure with the ends of its 95 % interval; without ends it is taken as exact."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def relative_error(self) -> float:
        """Half the interval's width over the value; 0 without an interval."""
        if self.low is None or self.high is None or not self.value:
            return 0.0
        return abs(self.high - self.low) / 2 / abs(self.value)


class Economics(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from one baseline and one speculative measurement of the same workload."""

    baseline_tokens_per_s: float
    tokens_per_s: float
    accept_length: float
    speedup: Estimate
    round_cost: Estimate
    """c: what a round costs, in baseline steps. The break-even accept length is the same number."""
    missing_accept_length: float
    """Break-even less measured accept length; negative where speculation pays."""
    needed_accept_length: dict[str, float]
    """Speed-up, as text, to the accept length that gives it at the same cost of a round."""

    @property
    def is_tie(self) -> bool:
        """Whether the speed-up's interval holds both a gain and a loss. An error of the accept length moves break-even
        and the accept length alike, so it has no say."""
        low, high = self.speedup.low, self.speedup.high
        return low is not None and high is not None and low <= 1 <= high


def economics(baseline: Estimate, speculative: Estimate, accept_length: Estimate) -> Economics:
    """Break-even of a speculative configuration.

    Speeds are in tokens a second of decoding, both at the same concurrency, context and sampling, without prefill.
    Intervals: relative errors of independent figures add in squares.

    Raises:
        ValueError: A figure is not positive, or the accept length is below 1.
    """
    for name, figure in (("baseline speed", baseline), ("speculative speed", speculative)):
        if not (math.isfinite(figure.value) and figure.value > 0):
            raise ValueError(f"the {name} must be positive, not {figure.value}")
    if not (math.isfinite(accept_length.value) and accept_length.value >= 1):
        raise ValueError(f"an accept length counts the bonus token and is 1 or more, not {accept_length.value}")
    speedup = speculative.value / baseline.value
    cost = accept_length.value / speedup
    speeds = (baseline.relative_error, speculative.relative_error)
    return Economics(
        baseline_tokens_per_s=baseline.value,
        tokens_per_s=speculative.value,
        accept_length=accept_length.value,
        speedup=_with_error(speedup, math.hypot(*speeds)),
        round_cost=_with_error(cost, math.hypot(*speeds, accept_length.relative_error)),
        missing_accept_length=cost - accept_length.value,
        needed_accept_length={f"{wanted:g}": cost * wanted for wanted in WANTED_SPEEDUPS},
    )


def verdict(found: Economics) -> str:
    """One sentence: `needs accept length over 2.30; 0.20 short`."""
    cost, missing = found.round_cost.value, found.missing_accept_length
    if found.is_tie:
        return f"a tie: break-even {cost:.2f} and accept length {found.accept_length:.2f} cannot be told apart"
    if missing > 0:
        return f"needs accept length over {cost:.2f}; {missing:.2f} short"
    return f"pays from accept length {cost:.2f} on; {-missing:.2f} over"


class Savings(msgspec.Struct, frozen=True, kw_only=True):
    """What a day's tokens cost with and without speculation. Negative savings are losses."""

    tokens_a_day: float
    baseline_hours: float
    hours: float
    saved_hours: float
    saved_kwh: float | None = None
    """`None` where power was not measured on both sides."""


def savings(
    tokens_a_day: float,
    baseline_tokens_per_s: float,
    tokens_per_s: float,
    baseline_power_w: float | None = None,
    power_w: float | None = None,
) -> Savings:
    """Hours and energy of a day's tokens. Speeds are of the whole server, power of all its GPUs together.

    Raises:
        ValueError: A speed is not positive.
    """
    if baseline_tokens_per_s <= 0 or tokens_per_s <= 0:
        raise ValueError("speeds must be positive")
    before_s, after_s = tokens_a_day / baseline_tokens_per_s, tokens_a_day / tokens_per_s
    saved_j = None
    if baseline_power_w is not None and power_w is not None:
        saved_j = before_s * baseline_power_w - after_s * power_w
    return Savings(
        tokens_a_day=tokens_a_day,
        baseline_hours=before_s / 3600,
        hours=after_s / 3600,
        saved_hours=(before_s - after_s) / 3600,
        saved_kwh=None if saved_j is None else saved_j / JOULES_A_KWH,
    )


def tokens_a_day(tokens_per_s: float) -> float:
    """What a server gives in a day at full load."""
    return tokens_per_s * SECONDS_A_DAY


def _with_error(value: float, relative: float) -> Estimate:
    if not relative:
        return Estimate(value)
    return Estimate(value, value * (1 - relative), value * (1 + relative))
