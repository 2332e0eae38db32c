"""What points must be like for a forecast, and how far it may go."""

import math
from collections.abc import Sequence

from engine.train.forecast.records import CannotForecast, DataPoint

FEWEST_POINTS = 3
LEAST_SPAN = 2.0
"""Largest size over smallest: closer points tell noise, not a slope."""
FARTHEST = 32.0
"""No forecast goes farther beyond the largest point, whatever the points."""


def sorted_points(points: Sequence[DataPoint], drafted: int | None) -> tuple[DataPoint, ...]:
    """The points by size.

    Raises:
        CannotForecast: A point makes no sense, or they are too few or too close.
    """
    for point in points:
        _check(point, drafted)
    sizes = sorted({point.samples for point in points})
    if len(sizes) < FEWEST_POINTS:
        raise CannotForecast(
            f"{len(sizes)} amount{'s' if len(sizes) != 1 else ''} of data: a slope and its bend need {FEWEST_POINTS}",
            "train on a tenth and a third of the same data too, and measure on the same prompts",
        )
    if sizes[-1] / sizes[0] < LEAST_SPAN:
        raise CannotForecast(
            f"the points span a factor of {sizes[-1] / sizes[0]:.2f}: too close together to tell a slope from noise",
            f"measure a draft trained on at most {sizes[-1] / LEAST_SPAN:,.0f} too",
        )
    return tuple(sorted(points, key=lambda point: point.samples))


def reach_of(points: Sequence[DataPoint]) -> float:
    """The largest size that may be asked for: as far again as the points span, and twice that."""
    smallest, largest = points[0].samples, points[-1].samples
    return largest * min(FARTHEST, 2 * largest / smallest)


def check_reach(samples: float, points: Sequence[DataPoint]) -> None:
    """Refuse a wild extrapolation.

    Raises:
        CannotForecast: The size lies beyond the reach.
    """
    if not (math.isfinite(samples) and samples > 0):
        raise CannotForecast(f"an amount of {samples}", "give a positive number of samples")
    if samples > (reach := reach_of(points)):
        raise CannotForecast(
            f"{samples:,.0f} samples is {samples / points[-1].samples:,.0f} times the largest point; these points speak"
            f" of {reach:,.0f} at most",
            f"measure a draft trained on {_enough(samples, points):,.0f} or more first",
        )


def _enough(samples: float, points: Sequence[DataPoint]) -> float:
    """The least size of a further point from which so many samples can be spoken of."""
    smallest = points[0].samples
    return max(samples / FARTHEST, math.sqrt(samples * smallest / 2))


def _check(point: DataPoint, drafted: int | None) -> None:
    most = math.inf if drafted is None else drafted + 1
    range_words = "is at least 1" if drafted is None else f"lies from 1 to {most:g}"
    if not (math.isfinite(point.samples) and point.samples > 0):
        raise CannotForecast(f"a point with {point.samples} samples", "give a positive number")
    if not (math.isfinite(point.accept_length) and 1 <= point.accept_length <= most):
        raise CannotForecast(
            f"accept length {point.accept_length} at {point.samples:,.0f} samples; it counts the bonus token and"
            f" {range_words}",
            "give SGLang's accept length; to SpecForge's simulated_acc_len add 1",
        )
    if (point.low is None) != (point.high is None):
        raise CannotForecast(f"half an interval at {point.samples:,.0f} samples", "give both ends, or none")
    if point.low is not None and point.high is not None and not point.low <= point.accept_length <= point.high:
        raise CannotForecast(
            f"{point.accept_length} lies outside its interval, {point.low} to {point.high}", "give low, value, high"
        )
