"""What a campaign does next, for every state that its steps and their work can be in."""

from typing import Any

import msgspec
import pytest

from engine.campaign.next_move import (
    MOST_ATTEMPTS,
    Begin,
    Examine,
    Finish,
    Stop,
    Wait,
    Work,
    WorkState,
    next_move,
    over_limit,
)
from engine.campaign.specification import LimitsPart
from engine.campaign.steps import steps_of
from state.records.campaigns import CampaignCost, CampaignStep
from tests.campaign.made import specification


def steps(done: int, **changes: Any) -> tuple[CampaignStep, ...]:
    """All steps, the first ones done, the next one changed."""
    made = [msgspec.structs.replace(step, id=step.position + 1) for step in steps_of(specification())]
    for place in range(done):
        made[place] = msgspec.structs.replace(made[place], state="done")
    made[done] = msgspec.structs.replace(made[done], **changes)
    return tuple(made)


def test_a_campaign_has_its_steps_in_order() -> None:
    assert [step.name for step in steps_of(specification())] == [
        "measure-before", "prepare", "serve", "regenerate", "export", "verify", "release",
        "train-11000", "train-22000", "train-44000", "measure", "forecast",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("work", "expected"),
    [("running", Wait), ("ended", Examine), ("failed", Stop), ("stopped", Stop), ("lost", Begin), ("none", Begin)],
)
def test_a_step_that_runs(work: WorkState, expected: type) -> None:
    assert isinstance(next_move(steps(0, state="running", attempts=1), {1: Work(work)}, ""), expected)


def test_work_that_is_lost_again_and_again_is_not_begun_for_ever() -> None:
    move = next_move(steps(0, state="running", attempts=MOST_ATTEMPTS), {1: Work("lost")}, "")
    assert isinstance(move, Stop) and move.failed


def test_the_next_step_begins_unless_a_limit_is_reached() -> None:
    assert next_move(steps(1), {}, "") == Begin(steps(1)[1])
    assert next_move(steps(1), {}, "too long") == Stop(None, "too long")


def test_a_server_that_ends_before_the_answers_are_there_is_started_again() -> None:
    found = steps(3, state="running", attempts=1)
    assert next_move(found, {3: Work("lost"), 4: Work("running")}, "") == Begin(found[2])
    assert next_move(found, {3: Work("ended"), 4: Work("running")}, "") == Wait()
    assert next_move(steps(4), {3: Work("stopped")}, "") == Begin(steps(4)[4])


def test_all_done() -> None:
    whole = tuple(msgspec.structs.replace(step, state="done") for step in steps(0))
    assert next_move(whole, {3: Work("stopped")}, "over") == Finish()


@pytest.mark.parametrize(
    ("hours", "gpu_hours", "stops"), [(1.9, 0, False), (2.0, 0, True), (0, 3.9, False), (0, 4, True)]
)
def test_limits(hours: float, gpu_hours: float, stops: bool) -> None:
    cost = CampaignCost(seconds=hours * 3600, gpu_seconds=gpu_hours * 3600, tokens=0)
    assert bool(over_limit(LimitsPart(hours=2.0, gpu_hours=4.0), cost)) is stops
    assert over_limit(LimitsPart(), cost) == ""
