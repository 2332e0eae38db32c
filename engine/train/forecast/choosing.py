"""Which law: the one that misses less on points that it was not shown."""

import numpy

from engine.train.forecast.laws import Curves, Points, fit
from engine.train.forecast.records import Law
from engine.train.forecast.scale import Array, Mask

LAWS: tuple[Law, ...] = ("log-linear", "saturating")
FEWEST_SHOWN = 3
"""Points that a law is fitted to before it foretells the next larger one."""


def held_out_error(law: Law, points: Points, priors: Array | None = None) -> Array | None:
    """Root mean square of what a law misses, always foretelling the next larger point from the smaller ones, `[sets]`.

    Points in between are never held out: a forecast goes outward, and so must its test. `None` below four points.
    """
    count = len(points.sizes)
    if count <= FEWEST_SHOWN:
        return None
    missed = []
    for shown in range(FEWEST_SHOWN, count):
        curves = fit(law, points.first(shown), priors)
        missed.append(curves.at(points.sizes[shown : shown + 1])[:, 0] - points.lengths[:, shown])
    found: Array = numpy.sqrt(numpy.mean(numpy.square(missed), axis=0))
    return found


def chosen(points: Points, priors: Array, coins: Array) -> tuple[dict[Law, Curves], Mask]:
    """Both laws through each set, and for each set whether the saturating one is taken.

    Args:
        points: The sets.
        priors: Medians of the prior on beta, `[sets]`.
        coins: From 0 to 1, `[sets]`: decide where three points are all there is, which cannot tell the laws apart.
    """
    curves = {law: fit(law, points, priors) for law in LAWS}
    straight, bent = (held_out_error(law, points, priors) for law in LAWS)
    if straight is None or bent is None:
        return curves, coins < 0.5
    return curves, bent < straight
