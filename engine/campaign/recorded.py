"""Points and costs of a forecast from what this state folder has recorded: campaigns first, then single trainings."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.campaign.measured import measured
from engine.campaign.points import costs_of, drafted_of, points_of
from engine.train.forecast.limits import FEWEST_POINTS
from engine.train.forecast.records import CannotForecast, Costs, DataPoint
from engine.train.specforge.plan import TrainingPlan
from engine.train.store import plans, progress
from state.bench import read_benches
from state.campaigns import find_campaign, read_campaign_steps, read_campaigns
from state.folder import StateFolder
from state.regenerations import latest_overall_speed, latest_progress, read_regenerations


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a forecast can be made from."""

    points: tuple[DataPoint, ...]
    costs: Costs
    drafted: int | None


def recorded(database: sqlite3.Connection, state: StateFolder, campaign: str | None) -> Recorded:
    """The points of a campaign; where none is named, of the newest one that has enough of them, else of the trainings
    of one target and one draft shape that differ in data.

    Raises:
        CannotForecast: There is no such campaign, or nothing recorded that carries a forecast.
    """
    if campaign is not None and find_campaign(database, campaign) is None:
        raise CannotForecast(f"there is no campaign {campaign}", "see them: alula campaign status --all")
    for found in (*_campaigns(database, campaign), *(() if campaign is not None else _trainings(database, state))):
        if len({point.samples for point in found.points}) >= FEWEST_POINTS:
            costs = found.costs
            if costs.samples_per_hour is None:
                costs = msgspec.structs.replace(costs, samples_per_hour=regeneration_pace(database))
            return Recorded(points=found.points, costs=costs, drafted=found.drafted)
    raise CannotForecast(
        "nothing recorded here holds trainings on three amounts of data",
        "give [train] samples three amounts in a campaign, or give points: --point SAMPLES:ACCEPT_LENGTH",
    )


def regeneration_pace(database: sqlite3.Connection) -> float | None:
    """Answers an hour of the newest regeneration that tells its speed."""
    for run in read_regenerations(database):
        found = latest_progress(database, run.id)
        speed = latest_overall_speed(database, run.id)
        if found is not None and found.done and found.completion_tokens and speed:
            return found.done * 3600 * speed / found.completion_tokens
    return None


def _campaigns(database: sqlite3.Connection, name: str | None) -> Iterator[Recorded]:
    chosen = [find_campaign(database, name)] if name is not None else read_campaigns(database)
    for campaign in chosen:
        if campaign is not None:
            steps = read_campaign_steps(database, campaign.id)
            points = tuple(points_of(steps, campaign.name))
            yield Recorded(points=points, costs=costs_of(steps), drafted=drafted_of(steps))


def _trainings(database: sqlite3.Connection, state: StateFolder) -> Iterator[Recorded]:
    """Trainings that share target, draft shape, steps of the training-time test and trainer; the newest group first."""
    groups: dict[bytes, list[TrainingPlan]] = {}
    for plan in plans(state):
        key = msgspec.json.encode([plan.target, plan.draft, plan.ttt_length, plan.max_length, plan.trainer])
        groups.setdefault(key, []).append(plan)
    for group in groups.values():
        points = [point for plan in group if (point := _held_out(database, plan)) is not None]
        yield Recorded(points=tuple(points), costs=_costs(database, group), drafted=None)


def _held_out(database: sqlite3.Connection, plan: TrainingPlan) -> DataPoint | None:
    length = progress(database, plan).held_out_accept_length
    if plan.samples is None or length is None:
        return None
    return DataPoint(samples=plan.samples, accept_length=length, label=f"{plan.name}, held out")


def _costs(database: sqlite3.Connection, group: list[TrainingPlan]) -> Costs:
    """Break-even by the newest benchmark of one of these trainings (`alula train benchmark` names it so)."""
    from engine.bench.comparison import compare_folder
    from engine.bench.records import BenchError

    for bench in read_benches(database):
        if not any(bench.name.startswith(f"{plan.name}-step") for plan in group):
            continue
        try:
            rows = measured(compare_folder(Path(bench.run_folder)))["rows"]
        except (BenchError, OSError):
            continue
        if even := next((row["break_even"] for row in rows if row["break_even"]), None):
            return Costs(break_even=max(1.0, even[0]))
    return Costs()
