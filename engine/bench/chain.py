"""Expected accept length and speed-up of a chain of drafted tokens for other numbers of steps.

A chain of K drafted tokens commits tau(K) = 1 + m_1 + ... + m_K tokens a round, where m_k is the share of rounds in
which the first k drafted tokens all stood (marginal rates; with conditional rates a_j, m_k = a_1 * ... * a_k).
What the draft proposes at position k does not depend on how many positions follow, so rates measured with K steps hold
for every smaller number. Beyond K they are carried on with the last conditional rate, and said to be extrapolated.

A round costs c(K) = fixed + K * step baseline steps (Leviathan et al., arXiv 2211.17192: their v and c). Two measured
numbers of steps fix both; one alone leaves a range, from "all extra cost is fixed" to "all of it is in the steps".
"""

from collections.abc import Iterable, Sequence

import msgspec

from engine.bench.economics import Estimate


class ChainPoint(msgspec.Struct, frozen=True):
    """One measured configuration: a chain of `num_steps` drafted tokens."""

    num_steps: int
    round_cost: Estimate
    accept_rates: tuple[Estimate, ...]
    """Marginal rates by position, from the first drafted token on."""
    speedup: Estimate | None = None
    """As measured; reckoned from rates and cost where it is not given."""


class CostModel(msgspec.Struct, frozen=True):
    """Cost of a round in baseline steps: `fixed + num_steps * step`, each with its range."""

    fixed: Estimate
    step: Estimate

    def cost(self, num_steps: int) -> Estimate:
        """Cost of a round. The ends of both ranges belong together crosswise: a cheaper step means a dearer rest."""
        ends = [
            fixed + num_steps * step
            for fixed, step in ((_low(self.fixed), _high(self.step)), (_high(self.fixed), _low(self.step)))
        ]
        value = self.fixed.value + num_steps * self.step.value
        return Estimate(value, min(value, *ends), max(value, *ends))


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of steps may be expected to give."""

    num_steps: int
    accept_length: Estimate
    round_cost: Estimate
    speedup: Estimate
    measured: bool
    extrapolated: bool
    """Accept rates at some positions were never measured."""


def conditional_rates(marginal: Sequence[float]) -> tuple[float | None, ...]:
    """Chance that position k stands, given that all before it stood; `None` where none ever did."""
    before = (1.0, *marginal)[: len(marginal)]
    return tuple(rate / earlier if earlier > 0 else None for rate, earlier in zip(marginal, before, strict=True))


def accept_length(rates: Sequence[Estimate], num_steps: int) -> Estimate:
    """tau of a chain of `num_steps`. Beyond the measured positions the last conditional rate goes on; the range then
    runs from "nothing more stands" to "the best conditional rate goes on"."""
    known = rates[:num_steps]
    value = 1 + sum(rate.value for rate in known)
    low, high = 1 + sum(_low(rate) for rate in known), 1 + sum(_high(rate) for rate in known)
    last = rates[-1].value if rates else 0.0
    conditional = [rate for rate in conditional_rates([rate.value for rate in rates]) if rate is not None]
    best, final = min(1.0, max(conditional, default=0.0)), min(1.0, conditional[-1] if conditional else 0.0)
    for further in range(1, num_steps - len(rates) + 1):
        value += last * final**further
        high += _high(rates[-1]) * best**further if rates else 0.0
    return Estimate(value, low, high)


def cost_model(points: Sequence[ChainPoint]) -> CostModel:
    """Fit costs to what was measured.

    Raises:
        ValueError: There is no point.
    """
    if not points:
        raise ValueError("no measured configuration to take the cost of a round from")
    if len({point.num_steps for point in points}) == 1:
        return _from_one(points[0])
    import numpy

    steps = numpy.array([point.num_steps for point in points], dtype=float)
    costs = numpy.array([point.round_cost.value for point in points])
    ends = numpy.array([[_low(point.round_cost), _high(point.round_cost)] for point in points])
    step, fixed = numpy.polyfit(steps, costs, 1)
    # The weights of least squares say how each point's error moves slope and intercept.
    centred = steps - steps.mean()
    slope_weights = centred / (centred**2).sum()
    half = (ends[:, 1] - ends[:, 0]) / 2
    slope_error = float(numpy.sqrt(((slope_weights * half) ** 2).sum()))
    fixed_error = float(numpy.sqrt((((1 / len(steps) - steps.mean() * slope_weights) * half) ** 2).sum()))
    if step < 0:  # noise: no further step saves time. Then all cost is fixed, and what the step may cost is its error.
        step, fixed = 0.0, costs.mean()
        return CostModel(
            Estimate(float(fixed), float(fixed - half.mean()), float(fixed + half.mean())),
            Estimate(0.0, 0.0, slope_error),
        )
    return CostModel(
        Estimate(float(fixed), float(fixed) - fixed_error, float(fixed) + fixed_error),
        Estimate(float(step), max(0.0, float(step) - slope_error), float(step) + slope_error),
    )


def expectations(points: Sequence[ChainPoint], steps: Iterable[int]) -> tuple[Expectation, ...]:
    """What each number of steps may be expected to give. Measured ones keep their own figures.

    Raises:
        ValueError: There is no point.
    """
    model = cost_model(points)
    longest = max(points, key=lambda point: len(point.accept_rates))
    measured = {point.num_steps: point for point in points}
    return tuple(_expected(number, measured.get(number), longest, model) for number in steps)


def _expected(number: int, own: ChainPoint | None, longest: ChainPoint, model: CostModel) -> Expectation:
    rates = own.accept_rates if own is not None and own.accept_rates else longest.accept_rates
    length = accept_length(rates, number)
    cost = own.round_cost if own is not None else model.cost(number)
    floor = max(_low(cost), 1e-9)
    reckoned = Estimate(length.value / cost.value, _low(length) / max(_high(cost), 1e-9), _high(length) / floor)
    return Expectation(
        num_steps=number,
        accept_length=length,
        round_cost=cost,
        speedup=own.speedup if own is not None and own.speedup is not None else reckoned,
        measured=own is not None,
        extrapolated=number > len(rates),
    )


def _from_one(point: ChainPoint) -> CostModel:
    """One number of steps: a round costs at least the plain step of its verification, so `fixed` is 1 or more."""
    cost = max(1.0, point.round_cost.value)
    dearest_step = (cost - 1) / point.num_steps
    half = dearest_step / 2
    return CostModel(
        Estimate(cost - half * point.num_steps, 1.0, _high(point.round_cost)), Estimate(half, 0.0, dearest_step)
    )


def _low(estimate: Estimate) -> float:
    return estimate.value if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.value if estimate.high is None else estimate.high
