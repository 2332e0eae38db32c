"""Points and costs of a forecast from what the steps of a campaign measured. Pure."""

from collections.abc import Sequence
from typing import Any

from engine.campaign.steps import AFTER, UNTRAINED
from engine.train.forecast.records import Costs, DataPoint
from state.records.campaigns import CampaignStep


def points_of(steps: Sequence[CampaignStep], campaign: str) -> list[DataPoint]:
    """A point for each amount that was trained on: the accept length that a server measured with the most drafted
    tokens; where no server did, the one of the held-out answers. The two are never mixed."""
    trainings = [one for one in steps if one.kind == "train" and one.state == "done" and one.name != UNTRAINED]
    served = {one.name: _served(steps, one) for one in trainings}
    measured = any(served.values())
    found = []
    for training in trainings:
        row, samples = served[training.name], training.figures.get("samples")
        length = row["accept_length"] if row else [training.figures.get("accept_length"), None, None]
        if samples is None or length[0] is None or (measured and not row):
            continue
        label = f"{campaign}: {training.name}, {'served' if row else 'held out'}"
        found.append(DataPoint(samples=samples, accept_length=length[0], low=length[1], high=length[2], label=label))
    return found


def costs_of(steps: Sequence[CampaignStep]) -> Costs:
    """Break-even of the newest measured draft, and the pace of the regeneration."""
    rows = [row for step in steps if step.kind == "bench" for row in _rows(step) if row["break_even"]]
    even = rows[-1]["break_even"] if rows else None
    error = (even[2] - even[1]) / 2 / 1.96 / even[0] if even and even[1] is not None and even[2] is not None else 0.0
    return Costs(
        break_even=max(1.0, even[0]) if even else None, break_even_error=error, samples_per_hour=samples_per_hour(steps)
    )


def samples_per_hour(steps: Sequence[CampaignStep]) -> float | None:
    """Answers an hour, at the speed that the regeneration had."""
    figures = next((one.figures for one in reversed(steps) if one.kind == "regen" and one.figures.get("done")), {})
    if not figures.get("tokens_per_s") or not figures.get("tokens"):
        return None
    return float(figures["done"]) * 3600 * float(figures["tokens_per_s"]) / float(figures["tokens"])


def drafted_of(steps: Sequence[CampaignStep]) -> int | None:
    """Drafted tokens of the rows that points are taken from."""
    numbers = [_num_steps(row) for step in steps if step.name == AFTER for row in _rows(step) if not row["baseline"]]
    return max(numbers, default=None)


def _served(steps: Sequence[CampaignStep], training: CampaignStep) -> dict[str, Any] | None:
    label = training.name.removeprefix("train-")
    rows = [row for step in steps if step.name == AFTER for row in _rows(step) if not row["baseline"]]
    own = [row for row in rows if row["name"].rpartition("-s")[0] == label and row["accept_length"] and not row["void"]]
    return max(own, key=_num_steps, default=None)


def _rows(step: CampaignStep) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = step.figures.get("rows", [])
    return rows


def _num_steps(row: dict[str, Any]) -> int:
    number = str(row["name"]).rpartition("-s")[2]
    return int(number) if number.isdigit() else 0
