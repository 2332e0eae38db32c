"""The forecast of a campaign: its own points, or those of its file where it trained too few drafts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.points import costs_of, drafted_of, points_of
from engine.campaign.specification import Specification
from engine.campaign.steps import UNTRAINED
from engine.train.forecast.records import CannotForecast, DataPoint
from state.records.campaigns import CampaignStep

TIMES = (2.0, 4.0, 8.0)
"""The largest training is multiplied by these."""


def foretell(wanted: Specification, steps: tuple[CampaignStep, ...]) -> dict[str, Any]:
    """The forecast as plain values, or why there is none (`refused` and `remedy`)."""
    from engine.train.forecast.forecasting import forecast
    from engine.train.forecast.limits import reach_of, sorted_points

    try:
        points, source = _points(wanted, steps)
        drafted = drafted_of(steps) if source == "measured" else None
        ordered = sorted_points(points, drafted)
        amounts = [*(ordered[-1].samples * times for times in TIMES), *wanted.forecast.at]
        found = forecast(
            points,
            amounts=sorted({amount for amount in amounts if amount <= reach_of(ordered)}),
            speedups=sorted({1.0, 1.5, wanted.speedup}),
            drafted=drafted,
            costs=costs_of(steps),
        )
    except CannotForecast as error:
        return {"refused": str(error), "remedy": error.remedy}
    plain: dict[str, Any] = msgspec.to_builtins(found)
    cautions = [*plain["cautions"], *(unequal_steps(steps) if source == "measured" else [])]
    return plain | {"source": source, "cautions": cautions}


def unequal_steps(steps: Sequence[CampaignStep]) -> list[str]:
    """A word where larger amounts were trained for more steps too: docs/forecast.md shows how much that can be."""
    counts = [one.figures["steps"] for one in steps if one.kind == "train" and one.name != UNTRAINED and one.figures]
    if len(counts) < 2 or max(counts) < 1.5 * min(counts):
        return []
    return [
        f"the trainings took {min(counts):,} to {max(counts):,} steps: part of the gain is longer training, not data; "
        "train each until its held-out accept length stands still"
    ]


def _points(wanted: Specification, steps: tuple[CampaignStep, ...]) -> tuple[list[DataPoint], str]:
    from engine.train.forecast.limits import FEWEST_POINTS
    from engine.train.forecast.reading import read_points

    own = points_of(steps, wanted.name)
    if len({point.samples for point in own}) >= FEWEST_POINTS or not wanted.forecast.points:
        return own, "measured"
    return read_points(Path(wanted.forecast.points)), "file"
