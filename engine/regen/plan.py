"""A run's plan: made once, kept in its folder, and held against the world each time the run goes on."""

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.regen.intake import Intake
from engine.regen.records import Plan
from engine.regen.store import Store

FILE_NAME = "plan.json"


class PlanError(Exception):
    """A run cannot begin or go on. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def write_plan(folder: Path, plan: Plan) -> None:
    """Make the run folder and put the plan there."""
    folder.mkdir(mode=0o700, parents=True)
    (folder / FILE_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2))


def read_plan(folder: Path) -> Plan:
    """The plan of a run folder.

    Raises:
        PlanError: There is none, or it is damaged.
    """
    try:
        return msgspec.json.decode((folder / FILE_NAME).read_bytes(), type=Plan)
    except FileNotFoundError:
        raise PlanError(f"{folder} is not a run folder", "see the runs: alula regen list") from None
    except (OSError, ValueError, RecursionError) as error:
        raise PlanError(f"{folder / FILE_NAME} cannot be read: {error}", "restore the file from a backup") from error


def lock_run(folder: Path) -> int:
    """Be the only worker of a run folder for as long as the process lives.

    Raises:
        PlanError: Another one is at work.
    """
    descriptor = os.open(folder / "worker.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise PlanError(f"another worker is at work on {folder}", "nothing to do; see alula regen status") from None
    return descriptor


def take_in_inputs(plan: Plan, store: Store) -> None:
    """Take each input file into the store, once. After that the run no longer needs the files.

    Raises:
        PlanError: A file cannot be read.
    """
    prefixes = id_prefixes(plan.inputs)
    intake = Intake(store.database, plan.limit, plan.samples, plan.shard)
    for text in plan.inputs:
        path = Path(text)
        if store.has_source(path):
            continue
        try:
            intake.take_in(path, _sha256(path), prefixes[text])
        except OSError as error:
            raise PlanError(
                f"cannot read {path}: {error.strerror}", "put the file back, then resume the run"
            ) from error


def id_prefixes(inputs: Sequence[str]) -> dict[str, str]:
    """What to put before the ids of each file, so that the ids of several files never clash; nothing for one file."""
    if len(set(inputs)) == 1:
        return {inputs[0]: ""}
    found: dict[str, str] = {}
    for text in inputs:
        stem, number = Path(text).name.split(".")[0], 2
        prefix = f"{stem}/"
        while prefix in found.values() and text not in found:
            prefix, number = f"{stem}-{number}/", number + 1
        found.setdefault(text, prefix)
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
