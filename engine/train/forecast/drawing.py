"""Many redrawn sets of points, each fitted and chosen anew: what the range of a forecast is made of.

A parametric bootstrap: each point is moved by its own error. The errors are widened or narrowed together by what the
better law leaves unexplained (trainings differ by seed and order, which no benchmark's interval knows), drawn anew for
each set because a few points tell it badly. Choosing the law, and the prior on the exponent, are redrawn too. And no
law holds exactly where nothing was measured: what it adds beyond the largest point is taken to be off by `LAW_ERROR`.
"""

from dataclasses import dataclass

import numpy

from engine.train.forecast.choosing import LAWS, chosen
from engine.train.forecast.laws import EXPONENT_SPREAD, USUAL_EXPONENT, Curves, Points, fit
from engine.train.forecast.records import Law
from engine.train.forecast.scale import Array, Mask

SETS = 2000
SEED = 20_260_101
PARAMETERS = 2
LAW_ERROR = 0.2
"""Standard deviation of the logarithm of what a law adds beyond the points. Set by
tests/benchmarks/forecast_coverage.py, so that the 80 % range holds 80 % also where the truth follows neither law."""

BELIEF = 4.0
"""Degrees of freedom that the stated errors are worth beside what the points leave unexplained."""


@dataclass(frozen=True)
class Draws:
    """Fits of all redrawn sets."""

    curves: dict[Law, Curves]
    bent: Mask
    """Which sets took the saturating law."""
    largest: float
    """Size of the largest point."""
    beyond: Array
    """What a law's gain beyond it is multiplied by, `[sets]`."""

    def at(self, sizes: Array) -> Array:
        """Accept length, `[sets, sizes]`."""
        found, last = self._at(sizes), self._at(numpy.array([self.largest]))
        highest = self.levels_off_at()[:, None]
        carried = (last + (found - last) * self.beyond[:, None]).clip(1, highest.clip(1))
        return numpy.where(sizes > self.largest, carried, found)

    def needed(self, lengths: Array) -> Array:
        """Size that gives an accept length, one for each set; infinite where none does."""
        last = self._at(numpy.array([self.largest]))[:, 0]
        wanted = numpy.where(lengths > last, last + (lengths - last) / self.beyond, lengths)
        straight, bent = (self.curves[law].needed(wanted) for law in LAWS)
        return numpy.where(self.bent, bent, straight)

    def levels_off_at(self) -> Array:
        """Accept length that is never passed, `[sets]`."""
        straight, bent = (self.curves[law].levels_off_at() for law in LAWS)
        return numpy.where(self.bent, bent, straight)

    def _at(self, sizes: Array) -> Array:
        straight, bent = (self.curves[law].at(sizes) for law in LAWS)
        return numpy.where(self.bent[:, None], bent, straight)


def drawn(points: Points, sets: int = SETS, seed: int = SEED) -> Draws:
    """Redraw one set of points many times. The same points and seed give the same draws."""
    source = numpy.random.default_rng(seed)
    least = min(float(fit(law, points).misfit[0]) for law in LAWS)
    freedom = max(0, len(points.sizes) - PARAMETERS)
    widening = numpy.sqrt((BELIEF + least) / source.chisquare(BELIEF + freedom, sets))
    noise = source.standard_normal((sets, len(points.sizes))) * points.errors * widening[:, None]
    highest = numpy.inf if points.steps is None else points.steps + 1
    moved = Points(points.sizes, (points.lengths + noise).clip(1, highest), points.errors, points.steps)
    priors = USUAL_EXPONENT * numpy.exp(EXPONENT_SPREAD * source.standard_normal(sets))
    curves, bent = chosen(moved, priors, source.random(sets))
    beyond = numpy.exp(LAW_ERROR * source.standard_normal(sets))
    return Draws(curves, bent, float(points.sizes[-1]), beyond)
