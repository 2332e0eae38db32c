"""The sweep that measures a checkpoint against its target alone."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from engine.train.checkpoints import Checkpoint, find_checkpoints
from engine.train.specforge.plan import CannotPlan, TrainingPlan
from engine.train.store import JOBS, read_plan
from state.records.jobs import Job

SGLANG = ("python", "-m", "sglang.launch_server", "--port", "{port}")
REFERENCE = (sys.executable, "-m", "console", "reference", "serve", "--port", "{port}")
GREEDY = {"temperature": 0.0, "max_tokens": 256}


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What a training has left, whichever trainer it was."""

    name: str
    target: str
    folder: Path
    """Where the sweep's file goes."""
    output: Path
    """Holds the checkpoints."""
    plan: TrainingPlan | None = None
    """Of SpecForge."""
    reference: bool = False
    """Of the reference trainer, so that the reference server serves it."""


def of_plan(plan: TrainingPlan) -> Trained:
    """What a training by SpecForge has left."""
    return Trained(name=plan.name, target=plan.target, folder=plan.folder, output=plan.output, plan=plan)


def trained_by(job: Job) -> Trained:
    """What a training's job has left.

    Raises:
        CannotPlan: It is the job of no training.
    """
    folder = Path(job.run_folder).parent
    if folder.name == JOBS:
        return of_plan(read_plan(folder.parent))
    if "train" in job.argv and "reference" in job.argv and (output := _option(job, "--output")):
        from engine.reference.checkpoint import shipped_target

        target, place = _option(job, "--target"), Path(job.working_dir) / output
        where = str(Path(job.working_dir) / target) if target else str(shipped_target())
        return Trained(name=place.name, target=where, folder=Path(job.run_folder), output=place, reference=True)
    raise CannotPlan(f"job {job.id} is no training", "see the trainings: alula train status")


def chosen(trained: Trained, step: int | None) -> Checkpoint:
    """The checkpoint of a step, or the newest. Raises `CannotPlan` where there is none."""
    found = [one for one in find_checkpoints(trained.output) if step is None or one.step == step]
    if not found:
        which = "no checkpoint" if step is None else f"no checkpoint of step {step}"
        remedy = (
            f"see them: alula train status {trained.name}" if trained.plan else "wait for one, or give --save-every"
        )
        raise CannotPlan(f"{trained.name} has {which}", remedy)
    return found[-1]


def sweep(trained: Trained, draft: Path, step: int, prompts: Path, num_steps: int, reference: bool) -> dict[str, Any]:
    """As `alula bench sweep` reads it: the target alone, and with a checkpoint of some step as its draft."""
    server = REFERENCE if reference else SGLANG
    return {
        "name": f"{trained.name}-step{step}",
        "prompts": str(prompts.absolute()),
        "concurrency": [1],
        "sampling": GREEDY,
        "server": {"command": [*server, "--model-path", trained.target]},
        "point": [{"name": "baseline"}],
        "grid": [{"name": "eagle3", "draft": {"trained": str(draft)}, "num_steps": [num_steps]}],
    }


def write_sweep(trained: Trained, content: dict[str, Any]) -> Path:
    """The sweep as a file beside the training."""
    path = trained.folder / f"{content['name']}.toml"
    path.write_text(tomli_w.dumps(content))
    return path


def _option(job: Job, name: str) -> str | None:
    """The value of an option of the job's command line; the last one counts."""
    found = None
    for word, following in zip(job.argv, (*job.argv[1:], ""), strict=True):
        if word == name:
            found = following
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found or None
