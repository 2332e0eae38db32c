"""What consoles may ask about campaigns."""

import secrets
import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from engine.campaign.reading import check, stored
from engine.campaign.specification import CampaignError, Specification, specification_of
from engine.campaign.steps import steps_of
from engine.commands import Handler, Request
from engine.context import Refusal
from state.alerts import clear_alert
from state.campaigns import (
    add_campaign,
    find_campaign,
    read_campaign_steps,
    update_campaign,
    update_campaign_step,
)
from state.jobs import request_stop
from state.records.campaigns import Campaign, CampaignStep

STOPPED_RULE = "campaign-stopped"


class StartArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `campaign.start`."""

    specification: Specification
    single_step: bool = False


class ResumeArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `campaign.resume`."""

    name: str
    """Name or id."""
    single_step: bool = False
    specification: Specification | None = None
    """In place of the stored one: limits, trainings and measurements may have changed, not what is done already."""


class StopArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `campaign.stop`."""

    name: str


def start(request: Request) -> dict[str, Any]:
    """Add a campaign, whose first step the engine begins. Answers `campaign_id`, `name` and `folder`."""
    asked = msgspec.convert(request.arguments, StartArguments)
    wanted = asked.specification
    try:
        check(wanted)
    except CampaignError as error:
        raise Refusal(str(error), error.remedy) from error
    folder = request.context.folder.path / "campaigns" / f"{wanted.name}-{secrets.token_hex(4)}"
    campaign = Campaign(
        name=wanted.name,
        folder=str(folder),
        specification=stored(wanted),
        created_at=request.now,
        single_step=asked.single_step,
    )
    try:
        campaign_id = add_campaign(request.database, campaign, steps_of(wanted))
    except sqlite3.IntegrityError:
        raise Refusal(
            f"there is a campaign {wanted.name} already",
            f"go on with it: alula campaign resume {wanted.name}; or give another name",
        ) from None
    return {"campaign_id": campaign_id, "name": wanted.name, "folder": str(folder)}


def stop(request: Request) -> dict[str, Any]:
    """Stop the step that runs, politely, and begin no other. What it has is kept."""
    campaign = _find(request, msgspec.convert(request.arguments, StopArguments).name)
    if campaign.state != "running":
        raise Refusal(f"{campaign.name} is {campaign.state}", f"see it: alula campaign status {campaign.name}")
    for step in read_campaign_steps(request.database, campaign.id):
        if step.state == "running" or step.kind == "serve":
            for number in step.job_ids[-1:]:
                request_stop(request.database, number, request.now, f"campaign {campaign.name} was stopped")
        if step.state == "running":
            update_campaign_step(request.database, step.id, state="waiting", message="stopped by an operator")
    update_campaign(request.database, campaign.id, state="stopped", message="stopped by an operator")
    return {"campaign_id": campaign.id, "name": campaign.name}


def resume(request: Request) -> dict[str, Any]:
    """Go on where it was; a step that failed is tried again."""
    asked = msgspec.convert(request.arguments, ResumeArguments)
    campaign = _find(request, asked.name)
    if campaign.state == "running":
        raise Refusal(f"{campaign.name} is running", f"see it: alula campaign status {campaign.name}")
    if campaign.state == "done" and asked.specification is None:
        raise Refusal(f"{campaign.name} is done", f"see it: alula campaign status {campaign.name}")
    clear_alert(request.database, STOPPED_RULE, f"campaign {campaign.name}", request.now)
    steps = read_campaign_steps(request.database, campaign.id)
    changes: dict[str, Any] = {}
    try:
        if asked.specification is not None:
            changes["specification"] = stored(_changed(campaign, steps, asked.specification))
        else:
            specification_of(campaign)
    except CampaignError as error:
        raise Refusal(str(error), error.remedy) from error
    for step in steps:
        if step.state == "failed":
            update_campaign_step(request.database, step.id, state="waiting", message="")
        if step.state != "done":
            update_campaign_step(request.database, step.id, attempts=0)
    update_campaign(
        request.database,
        campaign.id,
        state="running",
        message="",
        ended_at=None,
        single_step=asked.single_step,
        **changes,
    )
    return {"campaign_id": campaign.id, "name": campaign.name}


def _changed(campaign: Campaign, steps: Sequence[CampaignStep], wanted: Specification) -> Specification:
    """By the steps that were begun, since the file of before may be what has to be mended."""
    check(wanted)
    if [(step.name, step.kind) for step in steps] != [(step.name, step.kind) for step in steps_of(wanted)]:
        raise Refusal(
            "the changed file has other steps than the campaign was begun with",
            "give it another name, and start it anew",
        )
    return msgspec.structs.replace(wanted, name=campaign.name)


def _find(request: Request, name: str) -> Campaign:
    campaign = find_campaign(request.database, name)
    if campaign is None:
        raise Refusal(f"there is no campaign {name}", "see them: alula campaign status")
    return campaign


CAMPAIGN_HANDLERS: dict[str, Handler] = {
    "campaign.resume": resume,
    "campaign.start": start,
    "campaign.stop": stop,
}
