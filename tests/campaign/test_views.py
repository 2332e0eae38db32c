"""What is told of a campaign: funnel, outlook, proposal, cost, document, forecast from the database."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.campaign.costs import cost_of
from engine.campaign.document import document_of
from engine.campaign.examining import examine
from engine.campaign.foretelling import foretell
from engine.campaign.points import costs_of, points_of
from engine.campaign.recorded import regeneration_pace
from engine.campaign.specification import LimitsPart
from engine.campaign.view import view_of
from engine.train_plan import next_document
from state.campaigns import read_campaign_steps
from state.database import open_database
from state.folder import state_folder
from state.records.campaigns import CampaignStep, CampaignView
from state.records.jobs import Job
from state.records.regeneration import Regeneration, RegenerationProgress
from state.regenerations import add_regeneration, write_progress
from tests.campaign.made import FIGURES, NOW, fill, row, specification


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    return tmp_path


def made(home: Path, done: int, **changes: Any) -> CampaignView:
    with closing(open_database(state_folder().database_path)) as database:
        campaign, steps = fill(database, home / "campaign", done, **changes)
    return view_of(campaign, steps, {}, NOW)


def test_the_funnel_goes_from_prompts_to_speed_up(home: Path) -> None:
    view = made(home, 12, state="done")
    assert [(row.stage, row.count) for row in view.funnel] == [
        ("read", 310_000), ("prepared", 88_088), ("prompts", 83_288), ("answered", 83_101), ("to train on", 86_139),
        ("trained on", 44_000),
    ]  # fmt: skip
    assert view.milestones[-1].name == "44000-s5" and view.milestones[-1].speedup == 1.08
    assert "reached 1.08x (1.06–1.10) by 44000-s5; the goal is 1.5x" in view.outlook
    assert "820,000" in view.proposal


def test_stages_that_are_not_reached_have_no_count(home: Path) -> None:
    view = made(home, 2)
    assert [row.count for row in view.funnel] == [310_000, 88_088, None, None, None, None]
    assert view.proposal == "serve runs" and view.proposed_command == ""


def test_a_failed_campaign_proposes_to_mend_and_go_on(home: Path) -> None:
    view = made(home, 3, state="failed", message="2.5 % of the samples failed")
    assert view.proposed_command == "alula campaign resume story"


def test_the_goal_may_be_reached(home: Path) -> None:
    view = made(home, 12, state="done", specification={"speedup": 1.05})
    assert view.proposal == "the goal is reached: deploy 44000-s5"


def test_points_and_costs_come_from_what_was_measured(home: Path) -> None:
    steps = made(home, 12).steps
    points = points_of(steps, "story")
    assert [(point.samples, point.accept_length) for point in points] == [
        (11_000, 2.15), (22_000, 2.31), (44_000, 2.48),
    ]  # fmt: skip
    costs = costs_of(steps)
    assert costs.break_even == pytest.approx(2.48 / 1.08)
    assert costs.samples_per_hour == pytest.approx(83_101 * 3600 * 831 / 66_000_000)
    found = foretell(specification(), steps)
    assert [one["samples"] for one in found["at"]] == [88_000, 176_000, 352_000]
    assert {one["goal"] for one in found["needed"]} == {"break even", "1.5x"}


def test_a_campaign_with_two_trainings_foretells_nothing_and_says_why(home: Path) -> None:
    steps = tuple(step for step in made(home, 12).steps if step.name != "train-11000")
    found = foretell(specification(), steps)
    assert "2 amounts" in found["refused"] and found["remedy"]


def test_cost_counts_jobs_not_the_time_between_them() -> None:
    jobs = {
        number: Job(id=number, name="x", kind="train", argv=("x",), working_dir="/", run_folder="/", created_at=0.0,
                    started_at=began, ended_at=ended, gpus=(0, 1))
        for number, began, ended in ((1, 0.0, 100.0), (2, 5000.0, 5100.0))
    }  # fmt: skip
    step = CampaignStep(campaign_id=1, position=0, name="train-all", kind="train", job_ids=(1, 2))
    cost = cost_of([step], jobs, LimitsPart(price_per_gpu_hour=9.0), 9000.0)
    assert (cost.seconds, cost.gpu_seconds, cost.money) == (200.0, 400.0, 1.0)


def test_each_row_of_the_document_traces_to_what_made_it(home: Path) -> None:
    view = made(home, 12, state="done")
    train = next(step for step in view.steps if step.name == "train-44000")
    steps = tuple(
        msgspec.structs.replace(step, inputs={"train": "/campaign/export"}) if step is train else step
        for step in view.steps
    )
    text = document_of(msgspec.structs.replace(view, steps=steps), "2026-12-03 07:00")
    assert "from train: `/campaign/export` (export)" in text
    assert "sha256 abababababababab" in text and "| 44000-s5 | 2.48 | 1.08x (1.06–1.10) |" in text


def test_text_from_outside_cannot_break_the_document(home: Path) -> None:
    view = made(home, 3, state="failed", message="a | b `c`\n# heading\x1b[31m")
    text = document_of(view, "now")
    assert "\x1b" not in text and "\n# heading" not in text


def test_documents_are_numbered_and_never_written_over(home: Path) -> None:
    made(home, 12, state="done")
    for number in (1, 2):
        done = CliRunner().invoke(alula, ["campaign", "document", "--json"])
        assert json.loads(done.stdout)["file"].endswith(f"train_plan_v{number}.md")
    assert next_document(home / "campaign").name == "train_plan_v3.md"


def test_a_forecast_without_points_takes_what_the_database_holds(home: Path) -> None:
    made(home, 12, state="done")
    done = CliRunner().invoke(alula, ["train", "forecast", "--at", "88088", "--json"])
    found = json.loads(done.stdout)
    assert found["points"][0]["label"] == "story: train-11000, served"
    assert found["at"][0]["samples"] == 88_088 and found["at"][0]["hours"] > 10
    assert found["needed"][0]["accept_length"] == pytest.approx(2.48 / 1.08)


def test_a_forecast_with_nothing_recorded_says_what_to_do(home: Path) -> None:
    done = CliRunner().invoke(alula, ["train", "forecast"])
    assert done.exit_code == 2 and "--point" in done.stderr
    missing = CliRunner().invoke(alula, ["train", "forecast", "--campaign", "none"])
    assert missing.exit_code == 2 and "there is no campaign none" in missing.stderr


def test_steps_stand_in_the_database_as_they_were_told(home: Path) -> None:
    view = made(home, 12)
    with closing(open_database(state_folder().database_path)) as database:
        assert read_campaign_steps(database, view.campaign.id) == view.steps


def test_the_speed_of_a_regeneration_outlives_a_worker_that_had_nothing_left_to_do(home: Path) -> None:
    run = Regeneration(name="r", run_folder="/r", inputs=("i",), server_url="u", concurrency=1, total=2, created_at=1.0)
    progress = RegenerationProgress(
        run_id=1, taken_at=1.0, done=1, failed=0, in_flight=1, completion_tokens=60, tokens_per_s_now=9.0,
        tokens_per_s_overall=10.0, eta_s=None, eta_low_s=None, eta_high_s=None,
    )  # fmt: skip
    ended = msgspec.structs.replace(progress, taken_at=2.0, done=2, tokens_per_s_overall=None)
    step = CampaignStep(campaign_id=1, position=0, name="regenerate", kind="regen", work="r")
    with closing(open_database(state_folder().database_path)) as database:
        add_regeneration(database, run)
        for one in (progress, ended):
            write_progress(database, one)
        assert examine(database, specification(), step).figures["tokens_per_s"] == 10.0
        assert regeneration_pace(database) == 2 * 3600 * 10.0 / 60


def test_a_break_even_that_cannot_be_says_so(home: Path) -> None:
    with closing(open_database(state_folder().database_path)) as database:
        campaign, steps = fill(database, home / "campaign", 12, state="done")
        rows = [row("baseline", 1.0, 1.0, baseline=True), row("fast-s5", 1.85, 2.02)]
        figures = {**FIGURES["measure"], "rows": rows}
        measured = [
            msgspec.structs.replace(step, figures=figures) if step.name == "measure" else step for step in steps
        ]
    remarks = {one.name: one.remark for one in view_of(campaign, tuple(measured), {}, NOW).milestones}
    assert remarks["fast-s5"] == "break-even 0.92, below 1: the baseline was disturbed, measure again"
    assert remarks["before: present-s5"] == "break-even 2.31"


@pytest.mark.parametrize(
    ("speedup", "says"),
    [([1.6, 1.55, 1.65], "deploy fast"), ([1.52, 1.4, 1.6], "not sure yet"), ([1.72, 0.74, 2.7], "not sure yet")],
)
def test_deploying_is_proposed_where_the_whole_range_reaches_the_goal(
    home: Path, speedup: list[float], says: str
) -> None:
    with closing(open_database(state_folder().database_path)) as database:
        campaign, steps = fill(database, home / "campaign", 12, state="done")
        rows = [row("baseline", 1.0, 1.0, baseline=True), row("fast", 2.8, 1.6) | {"speedup": speedup}]
        measured = tuple(
            msgspec.structs.replace(step, figures={**FIGURES["measure"], "rows": rows})
            if step.name == "measure"
            else step
            for step in steps
        )
    assert says in view_of(campaign, measured, {}, NOW).proposal
