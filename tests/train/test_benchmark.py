"""A checkpoint is measured: found, exported where it must be, put into a sweep; by command and by key."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.app import Console
from console.command_line.train import train
from console.screens.job import JobScreen
from engine.bench.sweep_file import read_sweep
from engine.reference.checkpoint import shipped_draft, shipped_target
from engine.train.benchmark import Trained, chosen, of_plan, sweep, trained_by, write_sweep
from engine.train.exporting import servable
from engine.train.specforge.plan import CannotPlan, TrainingPlan
from engine.train.store import write_plan
from state.database import open_database
from state.jobs import add_job, read_job
from state.records.jobs import Job
from tests.console.seeded import console, empty, ready, text_of

EXPORTER = """#!/bin/sh
echo "$@" >> "$0.log"
while [ "$1" != --output-dir ]; do shift; done
mkdir -p "$2"
[ -e "$0.fails" ] && { echo "ValueError: no state" >&2; exit 1; }
echo "{}" > "$2/config.json"
"""


@pytest.fixture
def plan(tmp_path: Path) -> TrainingPlan:
    """A training by a checkout that has an environment of its own, with a checkpoint that no server can load."""
    program = tmp_path / "sf" / ".venv" / "bin" / "specforge"
    program.parent.mkdir(parents=True)
    program.write_text(EXPORTER)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    made = TrainingPlan(
        name="x", folder=tmp_path / "x", target="/m/L", draft={"hidden_size": 8}, data=Path("/d.jsonl"),
        checkout=tmp_path / "sf",
    )  # fmt: skip
    (made.output / "x-step5").mkdir(parents=True)
    (made.output / "x-step5" / "training_state.pt").touch()
    return made


def log_of(plan: TrainingPlan) -> list[str]:
    return (Path(str(plan.checkout)) / ".venv/bin/specforge.log").read_text().splitlines()


def test_what_must_be_exported_is_exported_once(plan: TrainingPlan) -> None:
    checkpoint = chosen(of_plan(plan), None)
    made = servable(plan, checkpoint)
    assert made == plan.folder / "exported" / "x-step5" and (made / "config.json").is_file()
    assert servable(plan, checkpoint) == made and len(log_of(plan)) == 1
    assert log_of(plan)[0].startswith(f"export --to sglang --checkpoint {checkpoint.path} --draft-config")


def test_an_export_that_fails_says_why_and_leaves_no_draft(plan: TrainingPlan) -> None:
    (Path(str(plan.checkout)) / ".venv/bin/specforge.fails").touch()
    with pytest.raises(CannotPlan, match="the export failed: ValueError: no state") as refused:
        servable(plan, chosen(of_plan(plan), None))
    assert "specforge export --to sglang" in refused.value.remedy
    assert not (plan.folder / "exported" / "x-step5").exists()


def test_without_specforge_the_command_is_told(plan: TrainingPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path(str(plan.checkout)) / ".venv/bin/specforge").unlink()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CannotPlan, match="SpecForge is not here") as refused:
        servable(plan, chosen(of_plan(plan), None))
    assert "specforge export --to sglang" in refused.value.remedy


def test_a_step_that_is_not_there_is_told(plan: TrainingPlan) -> None:
    with pytest.raises(CannotPlan, match="no checkpoint of step 4"):
        chosen(of_plan(plan), 4)


def test_the_benchmark_of_a_checkpoint_is_a_sweep_that_can_be_read(plan: TrainingPlan, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "x"}\n')
    measured = read_sweep(write_sweep(of_plan(plan), sweep(of_plan(plan), tmp_path, 5, prompts, 3, reference=True)))
    assert len(measured.points) == 2
    assert str(tmp_path) in measured.points[1].command


def job(tmp_path: Path, *argv: str, run_folder: str = "") -> Job:
    return Job(
        name="train", kind="train", argv=argv, working_dir=str(tmp_path), run_folder=run_folder or f"{tmp_path}/run",
        created_at=1.0, state="done", ended_at=2.0,
    )  # fmt: skip


def test_a_job_tells_what_it_has_trained(plan: TrainingPlan, tmp_path: Path) -> None:
    write_plan(plan)
    assert trained_by(job(tmp_path, "specforge", run_folder=str(plan.folder / "jobs" / "1"))) == of_plan(plan)
    found = trained_by(job(tmp_path, "alula", "train", "reference", "--output=drafts/small", "--target", "t"))
    assert found == Trained(
        name="small",
        target=str(tmp_path / "t"),
        folder=tmp_path / "run",
        output=tmp_path / "drafts/small",
        reference=True,
    )
    assert trained_by(job(tmp_path, "train", "reference", "--output", "/o")).target == str(shipped_target())
    with pytest.raises(CannotPlan, match="is no training"):
        trained_by(job(tmp_path, "sleep", "1"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--job", "7"), "there is no job 7"),
        (("x", "--job", "7"), "not both"),
        ((), "not both"),
        (("../x",), "no name"),
    ],
)
def test_the_command_says_what_it_lacks(
    given: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    (tmp_path / "p.jsonl").write_text("{}")
    run = CliRunner().invoke(train, ["benchmark", *given, "--prompts", str(tmp_path / "p.jsonl")])
    assert run.exit_code == 2 and said in run.stderr


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Console]:
    made = console(empty(tmp_path / "state"))
    made.animation_level = "none"
    yield made


async def press_b(app: Console, pilot: Any, one: Job) -> None:
    with closing(open_database(app.folder.database_path)) as database:
        found = read_job(database, add_job(database, one))
    assert found is not None
    app.push_screen(JobScreen(found))
    await ready(pilot, lambda: isinstance(app.screen, JobScreen))
    await pilot.press("b")


async def test_one_key_measures_the_newest_checkpoint(app: Console, tmp_path: Path) -> None:
    for number in (3, 5):
        folder = tmp_path / "small" / f"reference-step{number}"
        folder.mkdir(parents=True)
        for file in shipped_draft().iterdir():
            (folder / file.name).symlink_to(file)
    async with app.run_test(size=(80, 24)) as pilot:
        await press_b(app, pilot, job(tmp_path, "alula", "train", "reference", "--output", "small"))
        await ready(pilot, lambda: "Measure step 5 of small, with the prompts" in " ".join(text_of(app).split()))
        await pilot.press(*"/no", "enter")
        await ready(pilot, lambda: any("'/no' does not" in one.message for one in app._notifications))


async def test_a_job_that_trained_nothing_says_so(app: Console, tmp_path: Path) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await press_b(app, pilot, job(tmp_path, "sleep", "1"))
        await ready(pilot, lambda: any("is no training" in one.message for one in app._notifications))
