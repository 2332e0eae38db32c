"""What a campaign does next, from its steps and the work that was begun for them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from engine.campaign.specification import LimitsPart
from state.records.campaigns import CampaignCost, CampaignStep

WorkState = Literal["none", "running", "ended", "failed", "lost", "stopped"]
MOST_ATTEMPTS = 5
"""A step whose work is lost (the machine went down) is begun again so often without asking."""


class Work(msgspec.Struct, frozen=True):
    """How the work of a step stands."""

    state: WorkState
    message: str = ""


class Begin(msgspec.Struct, frozen=True):
    """Begin a step, or go on with it."""

    step: CampaignStep


class Examine(msgspec.Struct, frozen=True):
    """Its work has ended: see what it came to."""

    step: CampaignStep


class Stop(msgspec.Struct, frozen=True):
    """Stand still and say why."""

    step: CampaignStep | None
    message: str
    failed: bool = True


class Wait(msgspec.Struct, frozen=True):
    """Work goes on."""


class Finish(msgspec.Struct, frozen=True):
    """All steps are done."""


Move = Begin | Examine | Stop | Wait | Finish


def next_move(steps: Sequence[CampaignStep], work: Mapping[int, Work], over_limit: str) -> Move:
    """What to do now.

    Args:
        steps: In order.
        work: Id of a step to how its work stands, for those that run and for a server that has been started.
        over_limit: Why no further step may begin; empty where one may.
    """
    if (gone := _server_gone(steps, work)) is not None:
        return Begin(gone)
    step = next((one for one in steps if one.state != "done"), None)
    if step is None:
        return Finish()
    if step.state == "running":
        return _while_running(step, work.get(step.id, Work("none")))
    if step.state == "failed":
        return Stop(step, step.message)
    if over_limit:
        return Stop(None, over_limit)
    return Begin(step)


def _while_running(step: CampaignStep, work: Work) -> Move:
    match work.state:
        case "running":
            return Wait()
        case "ended":
            return Examine(step)
        case "none" | "lost" if step.attempts < MOST_ATTEMPTS:
            return Begin(step)
        case "none" | "lost":
            return Stop(step, f"{step.name} was lost {step.attempts} times: {work.message}")
        case "stopped":
            return Stop(step, f"{step.name} was stopped{': ' + work.message if work.message else ''}", failed=False)
        case _:
            return Stop(step, work.message or f"{step.name} failed")


def _server_gone(steps: Sequence[CampaignStep], work: Mapping[int, Work]) -> CampaignStep | None:
    """The server that the regeneration needs, where it was started and has ended too early."""
    serve = next((one for one in steps if one.kind == "serve"), None)
    answered = any(one.kind == "regen" and one.state == "done" for one in steps)
    if serve is None or serve.state != "done" or answered or serve.attempts >= MOST_ATTEMPTS:
        return None
    return serve if work.get(serve.id, Work("none")).state in ("failed", "lost", "stopped", "none") else None


def over_limit(limits: LimitsPart, cost: CampaignCost) -> str:
    """Why no further step may begin, by what the campaign has cost; empty where one may."""
    hours, gpu_hours = cost.seconds / 3600, cost.gpu_seconds / 3600
    if limits.hours is not None and hours >= limits.hours:
        return f"it has taken {hours:.1f} h, and {limits.hours:g} h were allowed: raise [limits] hours"
    if limits.gpu_hours is not None and gpu_hours >= limits.gpu_hours:
        return (
            f"it has taken {gpu_hours:.1f} GPU hours, and {limits.gpu_hours:g} were allowed: raise [limits] gpu_hours"
        )
    return ""
