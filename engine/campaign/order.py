"""One command of the engine for a step, and what it needs to know of the machine. Pure."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.specification import CampaignError, Specification
from engine.campaign.steps import output_of
from state.records.campaigns import CampaignStep, StepKind

ALULA = (sys.executable, "-m", "console")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One command of the engine."""

    kind: str
    arguments: dict[str, Any]
    work: str = ""
    """Name or folder under which the work can be found."""
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    """What is known before the work has begun."""


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What an order needs to know of the machine and of earlier tries."""

    folder: Path
    """Of the campaign."""
    home: str
    """State folder."""
    port: int = 0
    """A free one."""
    model: str = ""
    """As the server that answers calls it."""
    begun: bool = False
    """Work of this step was begun before and is to be gone on with."""
    resumable: bool = False
    """A training has left a checkpoint."""
    answered: bool = False
    """The regeneration has ended, with failures."""
    data: str = ""
    """SpecForge: the file with as many samples as the step trains on."""


def made(steps: tuple[CampaignStep, ...], kind: StepKind, role: str) -> str:
    """What the newest step of a kind has made.

    Raises:
        CampaignError: None has.
    """
    found = output_of(steps, kind, role)
    if not found:
        raise CampaignError(f"no earlier step has made what this one needs ({role})", "see: alula campaign status")
    return found


def job(
    wanted: Specification,
    step: CampaignStep,
    kind: str,
    argv: Sequence[str],
    grace_s: float = 10.0,
    schedule: dict[str, Any] | None = None,
    *,
    home: str = "",
) -> dict[str, Any]:
    """Arguments of `jobs.launch`."""
    return {
        "argv": list(argv),
        "name": f"{wanted.name}: {step.name}",
        "kind": kind,
        "grace_s": grace_s,
        "schedule": schedule or {},
        "environment": {"ALULA_HOME": home} if home else {},
    }
