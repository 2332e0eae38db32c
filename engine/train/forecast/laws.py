"""The two laws of accept length over data, fitted to many redrawn sets of points at once.

log-linear: tau = A + B ln D (the form of Yan et al., arXiv 2505.07858). saturating: y = Y - k D^-beta, where y is the
acceptance of one drafted token if their number is known, else tau itself. With beta given it is linear, so beta alone
is searched; a prior on it keeps three points from being followed into nonsense.
"""

from dataclasses import dataclass

import numpy

from engine.train.forecast.records import Law
from engine.train.forecast.scale import Array, accept_length, acceptance

EXPONENTS = numpy.geomspace(0.04, 2.5, 56)
USUAL_EXPONENT, EXPONENT_SPREAD = 0.35, 0.75
"""Of the prior: its median, and the standard deviation of its logarithm. Data-scaling exponents of language models lie
around 0.1 to 0.5 for losses; for acceptance few are published, hence the width."""


@dataclass(frozen=True)
class Points:
    """Measured points: sizes ascending; standard errors are of accept length."""

    sizes: Array
    """`[points]`"""
    lengths: Array
    """`[sets, points]`"""
    errors: Array
    """`[points]`"""
    steps: int | None
    """Drafted tokens a round; `None` where unknown."""

    def first(self, count: int) -> "Points":
        """The smallest `count` of them."""
        return Points(self.sizes[:count], self.lengths[:, :count], self.errors[:count], self.steps)


@dataclass(frozen=True)
class Curves:
    """A law with its parameters, one set of them for each set of points."""

    law: Law
    top: Array
    """Y of the saturating law, A of the other."""
    slope: Array
    """k or B."""
    exponent: Array
    """beta; 0 for the log-linear law."""
    unit: float
    """Size that D is counted in."""
    steps: int | None
    misfit: Array
    """Sum of squared errors in units of the standard error."""

    def at(self, sizes: Array) -> Array:
        """Accept length, `[sets, sizes]`."""
        logs = numpy.log(sizes / self.unit)[None, :]
        if self.law == "log-linear":
            found = self.top[:, None] + self.slope[:, None] * logs
        else:
            found = self.top[:, None] - self.slope[:, None] * numpy.exp(-self.exponent[:, None] * logs)
            if self.steps is not None:
                return accept_length(found.clip(0, 1), self.steps)
        return found.clip(1, numpy.inf if self.steps is None else self.steps + 1)

    def needed(self, lengths: Array) -> Array:
        """Size that gives an accept length, one for each set; infinite where none does."""
        wanted = lengths
        if self.steps is not None and self.law == "saturating":
            wanted = acceptance(lengths, self.steps)
        with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.law == "log-linear":
                logs = numpy.where(self.slope > 0, (wanted - self.top) / self.slope, numpy.inf)
            else:
                logs = numpy.log(self.slope / (self.top - wanted)) / self.exponent
                logs = numpy.where((self.top <= wanted) | (self.slope <= 0), numpy.inf, logs)
        unreachable = (logs > 600) | (lengths > (numpy.inf if self.steps is None else self.steps + 1))
        return numpy.where(unreachable, numpy.inf, self.unit * numpy.exp(logs.clip(-600, 600)))

    def levels_off_at(self) -> Array:
        """Accept length that is never passed, `[sets]`; infinite for the log-linear law without a bound."""
        if self.law == "log-linear":
            return numpy.full_like(self.top, numpy.inf if self.steps is None else self.steps + 1)
        return self.top if self.steps is None else accept_length(self.top.clip(0, 1), self.steps)


def fit(law: Law, points: Points, priors: Array | None = None) -> Curves:
    """The best curve through each set of points.

    Args:
        law: Which one.
        points: At least two for the log-linear law, three for the other.
        priors: Medians of the prior on beta, `[sets]`: redrawn with the points, so that a range shows what the prior
            alone decided.
    """
    unit = float(numpy.exp(numpy.log(points.sizes).mean()))
    return _log_linear(points, unit) if law == "log-linear" else _saturating(points, unit, priors)


def _log_linear(points: Points, unit: float) -> Curves:
    top, slope, misfit = _straight(numpy.log(points.sizes / unit), points.lengths, points.errors[None, :])
    return Curves("log-linear", top, slope, numpy.zeros_like(top), unit, points.steps, misfit)


def _saturating(points: Points, unit: float, priors: Array | None) -> Curves:
    values, errors = points.lengths, numpy.broadcast_to(points.errors[None, :], points.lengths.shape)
    highest = numpy.inf
    if points.steps is not None:
        highest = 1.0
        values = acceptance(points.lengths, points.steps)
        above, below = (acceptance(points.lengths + sign * errors, points.steps) for sign in (1, -1))
        errors = ((above - below) / 2).clip(1e-6)
    centre = numpy.log(numpy.full(len(values), USUAL_EXPONENT) if priors is None else priors)
    best = [numpy.full(len(values), numpy.inf), *(numpy.zeros(len(values)) for _ in range(4))]
    for exponent in EXPONENTS:
        top, negative, misfit = _straight((points.sizes / unit) ** -exponent, values, errors, highest)
        cost = misfit + ((numpy.log(exponent) - centre) / EXPONENT_SPREAD) ** 2
        better = cost < best[0]
        found = (cost, top, -negative, numpy.full(len(values), exponent), misfit)
        best = [numpy.where(better, new, old) for new, old in zip(found, best, strict=True)]
    return Curves("saturating", best[1], best[2], best[3], unit, points.steps, best[4])


def _straight(features: Array, values: Array, errors: Array, highest: float = numpy.inf) -> tuple[Array, Array, Array]:
    """Weighted least squares of a line through each set; where its top would pass `highest`, it is held there."""
    weights = numpy.broadcast_to(1 / errors**2, values.shape)
    total = weights.sum(1)
    x_mean = (weights * features).sum(1) / total
    y_mean = (weights * values).sum(1) / total
    x, y = features - x_mean[:, None], values - y_mean[:, None]
    slope = (weights * x * y).sum(1) / (weights * x * x).sum(1)
    top = y_mean - slope * x_mean
    if numpy.isfinite(highest):
        held = (weights * features * (values - highest)).sum(1) / (weights * features**2).sum(1)
        slope, top = numpy.where(top > highest, held, slope), top.clip(max=highest)
    misfit = (weights * (values - top[:, None] - slope[:, None] * features) ** 2).sum(1)
    return top, slope, misfit
