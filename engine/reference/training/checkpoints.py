"""Checkpoints of a run: a folder that a server can load, with the state that a resumption needs beside the weights."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from engine.reference.training.export import save_draft
from engine.reference.training.models import Tensors
from engine.reference.training.settings import RUN_NAME, CannotTrain
from engine.reference.training.shapes import Shape

STATE = "training_state.pt"
_NAME = re.compile(rf"{RUN_NAME}-step(\d+)")


def save_checkpoint(
    output: Path,
    step: int,
    weights: Tensors,
    covered: torch.Tensor,
    shape: Shape,
    target_config: Mapping[str, Any],
    training: Mapping[str, Any],
    state: Mapping[str, Any],
) -> Path:
    """Write the checkpoint of a step. It appears whole or not at all; an older one of that step is replaced."""
    folder = output / f"{RUN_NAME}-step{step}"
    part = output / f".{folder.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    save_draft(weights, covered, part, shape, target_config, training)
    masters = {name: tensor.detach().cpu() for name, tensor in weights.items()}
    torch.save({"weights": masters, "covered": covered.cpu(), "step": step, **state}, part / STATE)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    link = output / f"{RUN_NAME}-latest"
    fresh = output / f".{link.name}.part"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(link)
    return folder


def checkpoints(output: Path) -> list[Path]:
    """All checkpoints of a run, by step."""
    found = [
        (int(match[1]), path) for path in output.glob(f"{RUN_NAME}-step*") if (match := _NAME.fullmatch(path.name))
    ]
    return [path for _, path in sorted(found)]


def newest_state(output: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint that can be read; `None` where there is none.

    Raises:
        CannotTrain: There are checkpoints, and none can be read.
    """
    found = checkpoints(output)
    for path in reversed(found):
        try:
            state: dict[str, Any] = torch.load(path / STATE, map_location="cpu", weights_only=True)
        except Exception:  # torch lets through whatever its unpickler stumbles over in a torn file
            continue
        return state
    if found:
        raise CannotTrain(f"no checkpoint below {output} can be read", "start anew in another folder with --output")
    return None
