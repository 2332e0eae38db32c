"""A checkpoint of SpecForge as a folder that a server can load (SpecForge a6b6b02, export/to_sglang.py)."""

import shutil
import subprocess
from pathlib import Path

from engine.train.checkpoints import Checkpoint
from engine.train.specforge.configuration import DRAFT_FILE
from engine.train.specforge.plan import CannotPlan, TrainingPlan
from engine.train.specforge.preparing import environment_of

LIMIT_S = 900.0
"""It loads the draft alone, which takes seconds; a disk far away may be slow."""


def servable(plan: TrainingPlan | None, checkpoint: Checkpoint) -> Path:
    """The folder to serve: the checkpoint itself, or what SpecForge makes of it, once.

    Raises:
        CannotPlan: There is no SpecForge here, or it refuses.
    """
    if checkpoint.form == "servable" or plan is None:
        return checkpoint.path
    made = plan.folder / "exported" / checkpoint.path.name
    if (made / "config.json").is_file():
        return made
    words = export_command(plan, checkpoint, made)
    if environment_of(plan.checkout)[0] is None:
        raise CannotPlan(
            f"{checkpoint.path} must be exported before a server can load it, and SpecForge is not here",
            f"in its environment: {' '.join(words)}",
        )
    _run(words, made)
    return made


def export_command(plan: TrainingPlan, checkpoint: Checkpoint, output: Path) -> list[str]:
    """What exports it."""
    return [
        *(environment_of(plan.checkout)[0] or "specforge", "export", "--to", "sglang"),
        *("--checkpoint", str(checkpoint.path), "--draft-config", str(plan.folder / DRAFT_FILE)),
        *("--output-dir", str(output)),
    ]


def _run(words: list[str], made: Path) -> None:
    """Whole or not at all: what an export that was cut has left is no draft."""
    part = made.with_name(f"{made.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    made.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [*words[:-1], str(part)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotPlan(f"the export failed: {error}", f"try it: {' '.join(words)}") from error
    if done.returncode != 0 or not (part / "config.json").is_file():
        why = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), f"code {done.returncode}")
        raise CannotPlan(f"the export failed: {why.strip()[:300]}", f"try it: {' '.join(words)}")
    part.replace(made)
