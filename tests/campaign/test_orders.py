"""What each step of a campaign asks of the engine."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.bench.records import Plan
from engine.campaign.order import Around, Order
from engine.campaign.orders import order_of
from engine.campaign.specification import CampaignError, RegeneratePart, Specification, TargetPart, TrainPart
from engine.campaign.steps import steps_of
from state.records.campaigns import CampaignStep
from tests.campaign.made import specification

OUTPUTS = {
    "prepare": {"prompts": "/c/prompts"}, "serve": {"url": "http://127.0.0.1:31000"}, "regenerate": {"run": "/runs/r"},
    "export": {"train": "/c/train.jsonl", "held_out": "/c/train.held-out.jsonl"},
    "train-11000": {"checkpoint": "/c/11000"}, "train-22000": {"checkpoint": "/c/22000"},
}  # fmt: skip


def order(name: str, wanted: Specification | None = None, work: str = "", **around: Any) -> Order:
    """Of one step, once all before it have made what they make."""
    wanted = wanted or specification()
    steps = tuple(
        msgspec.structs.replace(step, state="done", outputs=OUTPUTS.get(step.name, {}), job_ids=(7,), work=work)
        for step in steps_of(wanted)
    )
    step = next(one for one in steps if one.name == name)
    return order_of(wanted, step, steps, Around(folder=Path("/c"), home="/home", **around))


def words(found: Order) -> str:
    assert found.kind == "jobs.launch"
    return " ".join(found.arguments["argv"])


def points(found: Order) -> dict[str, str]:
    plan = msgspec.convert(found.arguments["plan"], Plan)
    return {point.name: " ".join(point.command) for point in plan.points}


def test_data_is_prepared_by_the_plan_into_the_campaigns_folder() -> None:
    found = order("prepare")
    assert (found.kind, found.arguments["plan_path"], found.work) == (
        "data.prepare", "/plans/plan.toml", "/c/prompts"
    )  # fmt: skip


def test_the_target_is_served_on_a_free_port_and_stopped_by_its_job() -> None:
    found = order("serve", port=31005)
    assert "--port 31005 --model-path /models/target" in words(found)
    assert found.outputs == {"url": "http://127.0.0.1:31005"}
    assert found.arguments["schedule"]["ready_url"] == "http://127.0.0.1:31005/health"
    assert order("release").arguments == {"job_id": 7}


def test_a_regeneration_asks_the_server_that_was_started() -> None:
    found = order("regenerate", model="kimi")
    asked = found.arguments
    assert (asked["server_url"], asked["inputs"], asked["model"]) == (OUTPUTS["serve"]["url"], ["/c/prompts"], "kimi")
    assert asked["sampling"] == {"max_tokens": 512}


@pytest.mark.parametrize(("answered", "kind"), [(False, "regen.resume"), (True, "regen.retry")])
def test_a_regeneration_that_was_begun_goes_on(answered: bool, kind: str) -> None:
    found = order("regenerate", begun=True, answered=answered, work="story-regenerate")
    assert (found.kind, found.arguments) == (kind, {"name": "story-regenerate"})


def test_answers_are_exported_with_a_part_held_out_and_verified() -> None:
    assert "regen export /runs/r --output /c/train.jsonl --held-out 0.02" in words(order("export"))
    assert order("export").outputs["held_out"] == "/c/train.held-out.jsonl"
    whole = specification(regenerate=RegeneratePart(held_out=0.0))
    assert order("export", whole).outputs == {"train": "/c/train.jsonl"}
    assert words(order("verify")).endswith("regen verify /runs/r /c/train.jsonl")


def test_a_server_of_the_operators_own_is_asked_instead() -> None:
    found = order("regenerate", specification(regenerate=RegeneratePart(server="http://gpu1:30000/", temperature=0.0)))
    assert found.arguments["server_url"] == "http://gpu1:30000"
    assert found.arguments["sampling"]["temperature"] == 0.0


def test_before_training_the_present_draft_is_measured_under_both_flags() -> None:
    found = points(order("measure-before"))
    assert list(found) == ["baseline", "eagle-flag-s5", "present-s3", "present-s5"]
    assert "--speculative-algorithm EAGLE " in found["eagle-flag-s5"] and "EAGLE3" in found["present-s5"]


def test_after_training_the_largest_draft_is_measured_with_every_number_of_steps() -> None:
    found = points(order("measure"))
    assert list(found) == ["baseline", "present-s5", "11000-s5", "22000-s3", "22000-s5"]
    assert "--speculative-draft-model-path /c/22000" in found["22000-s3"]
    assert order("measure", begun=True, work="story-measure").kind == "bench.resume"


def test_the_reference_trainer_takes_an_amount_and_goes_on_from_a_checkpoint() -> None:
    given = TrainPart(samples=(100,), untrained=True, arguments=("--seconds", "60", "--steps=9", "--depth", "2"))
    wanted = specification(target=TargetPart(model="/models/target", reference=True), train=given)
    trained = words(order("train-100", wanted, resumable=True))
    assert "--held-out-data /c/train.held-out.jsonl --samples 100 --seconds 60 --steps=9 --depth 2" in trained
    assert trained.endswith("--json --resume")
    untrained = words(order("train-untrained", wanted))
    assert "--depth 2 --steps 1" in untrained and "--seconds" not in untrained and "--steps=9" not in untrained


def test_specforge_trains_on_a_file_with_so_many_samples() -> None:
    found = order("train-11000", data="/c/train-11000.jsonl")
    assert "train start --target /models/target --data /c/train-11000.jsonl --name story-train-11000" in words(found)
    assert found.work == "story-train-11000"


def test_the_forecast_reads_what_was_measured() -> None:
    found = order("forecast", work="story-measure")
    assert words(found).endswith("campaign forecast story")
    assert found.inputs["bench measure"] == "story-measure" and found.outputs == {"forecast": "/c/forecast.json"}


@pytest.mark.parametrize("name", ["regenerate", "export"])
def test_what_an_earlier_step_has_not_made_is_missed_by_name(name: str) -> None:
    steps: tuple[CampaignStep, ...] = steps_of(specification())
    step = next(one for one in steps if one.name == name)
    with pytest.raises(CampaignError, match=r"no server answers|no earlier step has made"):
        order_of(specification(), step, steps, Around(folder=Path("/c"), home="/home"))
