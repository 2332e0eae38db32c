"""A forecast from measured points: plain records in, plain records out."""

from collections.abc import Sequence

import numpy

from engine.train.forecast.answers import at_samples, needed_for
from engine.train.forecast.choosing import LAWS, held_out_error
from engine.train.forecast.drawing import drawn
from engine.train.forecast.laws import Curves, Points, fit
from engine.train.forecast.limits import check_reach, reach_of, sorted_points
from engine.train.forecast.records import CannotForecast, Costs, DataPoint, Fitted, Forecast, Law

USUAL_ERROR = 0.01
"""Relative standard error of a point that states none."""
Z95 = 1.96


def forecast(
    points: Sequence[DataPoint],
    *,
    amounts: Sequence[float] = (),
    accept_lengths: Sequence[float] = (),
    speedups: Sequence[float] = (1.0, 1.5),
    drafted: int | None = None,
    costs: Costs | None = None,
    have: float | None = None,
) -> Forecast:
    """What more data will give, and how much of it a goal takes.

    Args:
        points: Measured trainings; only the amount of data differs between them.
        amounts: Amounts to foretell, in the unit of the points.
        accept_lengths: Goals.
        speedups: Goals over the baseline; 1 is break-even. They need `costs.break_even`.
        drafted: Drafted tokens a round (num_draft_tokens - 1 of a chain), which bounds the accept length.
        costs: What was measured of serving and regeneration.
        have: Data that is ready already; the largest point where not given.

    Raises:
        CannotForecast: The points are too few, too close or impossible, or an amount lies too far out.
    """
    costs = costs or Costs()
    ordered = sorted_points(points, drafted)
    for amount in amounts:
        check_reach(amount, ordered)
    if drafted is not None and drafted < 1:
        raise CannotForecast(f"{drafted} drafted tokens", "give 1 or more: num_draft_tokens - 1 of a chain")
    measured, reach = _measured(ordered, drafted), reach_of(ordered)
    curves = {law: fit(law, measured) for law in LAWS}
    errors = {law: _held_out(law, measured) for law in LAWS}
    law, reason = _choice(errors)
    draws = drawn(measured)
    ready = ordered[-1].samples if have is None else have
    goals = [(_goal(speedup), costs.break_even * speedup) for speedup in speedups if costs.break_even is not None]
    goals += [(f"accept length {length:.2f}", length) for length in accept_lengths]
    return Forecast(
        points=ordered,
        law=law,
        reason=reason,
        fits=tuple(_fitted(curves[one], errors[one]) for one in LAWS),
        reach=reach,
        at=tuple(at_samples(amount, curves[law], draws, costs, ready) for amount in amounts),
        needed=tuple(needed_for(name, goal, curves[law], draws, costs, ready, reach) for name, goal in goals),
        cautions=_cautions(ordered, curves[law], measured),
    )


def _measured(points: Sequence[DataPoint], drafted: int | None) -> Points:
    lengths = numpy.array([point.accept_length for point in points])
    errors = [
        USUAL_ERROR * point.accept_length
        if point.low is None or point.high is None
        else max((point.high - point.low) / 2 / Z95, 1e-3)
        for point in points
    ]
    return Points(numpy.array([float(point.samples) for point in points]), lengths[None], numpy.array(errors), drafted)


def _held_out(law: Law, measured: Points) -> float | None:
    found = held_out_error(law, measured)
    return None if found is None else float(found[0])


def _choice(errors: dict[Law, float | None]) -> tuple[Law, str]:
    straight, bent = errors["log-linear"], errors["saturating"]
    if straight is None or bent is None:
        return "log-linear", "three points cannot tell the laws apart: the range holds both"
    law: Law = "saturating" if bent < straight else "log-linear"
    return law, f"missed {min(straight, bent):.3f} on points held out, the other law {max(straight, bent):.3f}"


def _goal(speedup: float) -> str:
    return "break even" if speedup == 1 else f"{speedup:g}x"


def _fitted(curves: Curves, error: float | None) -> Fitted:
    top, slope, exponent = float(curves.top[0]), float(curves.slope[0]), float(curves.exponent[0])
    if curves.law == "log-linear":
        formula = f"accept length = {top:.3f} {slope:+.3f} ln(D / {curves.unit:,.0f})"
    else:
        what = "accept length" if curves.steps is None else "acceptance of a drafted token"
        formula = f"{what} = {top:.3f} {-slope:+.3f} (D / {curves.unit:,.0f})^-{exponent:.2f}"
    level = float(curves.levels_off_at()[0])
    rising = curves.law == "saturating" and slope > 0
    return Fitted(law=curves.law, formula=formula, error=error, levels_off_at=level if rising else None)


def _cautions(points: Sequence[DataPoint], curves: Curves, measured: Points) -> tuple[str, ...]:
    found = []
    if any(point.low is None for point in points):
        found.append(f"points without an interval were given a standard error of {USUAL_ERROR * 100:.0f} %")
    ratios = numpy.diff(numpy.log(measured.sizes))
    drops = numpy.diff(measured.lengths[0]) < -2 * numpy.hypot(measured.errors[1:], measured.errors[:-1])
    if bool((drops & (ratios > 0)).any()):
        found.append(
            "a larger amount gave a smaller accept length; see that all were measured on the same prompts and settings"
        )
    if float(curves.misfit[0]) > 9 * max(1, len(points) - 2):
        found.append("the points scatter far more about the curve than their intervals allow")
    return tuple(found)
