"""Checkpoints that a training has left, in any of the three layouts."""

import re
from pathlib import Path
from typing import Literal

import msgspec

Form = Literal["servable", "runtime"]
_NAMES = (re.compile(r".+-step(\d+)"), re.compile(r"epoch_\d+_step_(\d+)"))


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a training wrote."""

    path: Path
    step: int
    form: Form
    """`servable`: config.json and weights; `runtime`: to be exported first (engine/train/exporting.py)."""
    errors: tuple[str, ...] = ()
    """Rules of the checker that it breaks on its target."""


def find_checkpoints(output: Path) -> list[Checkpoint]:
    """By step. Those of SpecForge 0.2.0 (`RUN-stepN`), of the script before it (`epoch_E_step_S`), of the reference
    trainer; links and what is half written are left out."""
    found = []
    for path in output.glob("*step*") if output.is_dir() else ():
        match = next((match for name in _NAMES if (match := name.fullmatch(path.name))), None)
        if match is None or path.is_symlink() or path.name.startswith("."):
            continue
        servable = (path / "config.json").is_file() and any(path.glob("*.safetensors"))
        if servable or (path / "training_state.pt").is_file():
            found.append(Checkpoint(path=path, step=int(match[1]), form="servable" if servable else "runtime"))
    return sorted(found, key=lambda one: one.step)
