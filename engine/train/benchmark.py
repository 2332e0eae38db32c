"""The sweep that measures a checkpoint against its target alone."""

import sys
from pathlib import Path
from typing import Any

import tomli_w

from engine.train.checkpoints import Checkpoint, find_checkpoints
from engine.train.specforge.plan import CannotPlan, TrainingPlan

SGLANG = ("python", "-m", "sglang.launch_server", "--port", "{port}")
REFERENCE = (sys.executable, "-m", "console", "reference", "serve", "--port", "{port}")
GREEDY = {"temperature": 0.0, "max_tokens": 256}


def chosen(plan: TrainingPlan, step: int | None) -> Checkpoint:
    """The checkpoint of a step, or the newest. Raises `CannotPlan` where there is none, or it cannot be served."""
    found = [one for one in find_checkpoints(plan.output) if step is None or one.step == step]
    if not found:
        which = "no checkpoint" if step is None else f"no checkpoint of step {step}"
        raise CannotPlan(f"{plan.name} has {which}", f"see them: alula train status {plan.name}")
    if found[-1].form == "runtime":
        export = (
            f"specforge export --to sglang --checkpoint {found[-1].path} "
            f"--draft-config {plan.folder / 'draft.json'} --output-dir FOLDER"
        )
        raise CannotPlan(f"{found[-1].path} is no folder that a server can load", f"export it: {export}")
    return found[-1]


def sweep(plan: TrainingPlan, checkpoint: Checkpoint, prompts: Path, num_steps: int, reference: bool) -> dict[str, Any]:
    """As `alula bench sweep` reads it: the target alone, and with the checkpoint as its draft."""
    server = REFERENCE if reference else SGLANG
    return {
        "name": f"{plan.name}-step{checkpoint.step}",
        "prompts": str(prompts.absolute()),
        "concurrency": [1],
        "sampling": GREEDY,
        "server": {"command": [*server, "--model-path", plan.target]},
        "point": [{"name": "baseline"}],
        "grid": [{"name": "eagle3", "draft": {"trained": str(checkpoint.path)}, "num_steps": [num_steps]}],
    }


def write_sweep(plan: TrainingPlan, content: dict[str, Any]) -> Path:
    """The sweep as a file beside the training."""
    path = plan.folder / f"{content['name']}.toml"
    path.write_text(tomli_w.dumps(content))
    return path
