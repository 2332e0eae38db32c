"""Begins a step in the database: the command of the engine and the step's row change together, or neither does."""

import sqlite3
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.commands import Handler, Request
from engine.context import EngineContext, Refusal
from state.campaigns import read_campaign, read_campaign_steps, update_campaign, update_campaign_step
from state.records.campaigns import CampaignStep

if TYPE_CHECKING:
    from engine.campaign.order import Order


def begin(
    database: sqlite3.Connection,
    context: EngineContext,
    handlers: Mapping[str, Handler],
    step: CampaignStep,
    order: "Order",
) -> bool:
    """Carry out an order and record what it gave, in one transaction.

    An engine that is killed before the commit has begun nothing; one that is killed after it finds the job in the
    step's row. `False` where the campaign was stopped or the step begun by somebody else in the meantime.

    Raises:
        Refusal: The command was refused; nothing has changed.
    """
    now = time.time()
    database.execute("BEGIN IMMEDIATE")
    try:
        if not _still_wanted(database, step):
            database.execute("ROLLBACK")
            return False
        answer = handlers[order.kind](Request(database, order.arguments, context, now))
        update_campaign_step(database, step.id, **_begun(step, order, answer, now))
        update_campaign(database, step.campaign_id, message="")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    context.jobs_changed.set()
    return True


def _still_wanted(database: sqlite3.Connection, step: CampaignStep) -> bool:
    campaign = read_campaign(database, step.campaign_id)
    now = next((one for one in read_campaign_steps(database, step.campaign_id) if one.id == step.id), None)
    return campaign is not None and campaign.state == "running" and now == step


def _begun(step: CampaignStep, order: "Order", answer: Mapping[str, Any], now: float) -> dict[str, Any]:
    job = answer.get("job_id")
    jobs = (*step.job_ids, int(job)) if isinstance(job, int) and order.kind != "jobs.stop" else step.job_ids
    return {
        "state": "running",
        "attempts": step.attempts + 1,
        "command": order.kind,
        "arguments": order.arguments,
        "job_ids": jobs,
        "work": order.work,
        "began_at": step.began_at or now,
        "ended_at": None,
        "message": "",
        "inputs": order.inputs,
        "outputs": {**step.outputs, **order.outputs},
    }


def refused(database: sqlite3.Connection, step: CampaignStep, refusal: Refusal | Exception) -> None:
    """Record why a step could not begin, and let the campaign stand still."""
    remedy = getattr(refusal, "remedy", "")
    stand_still(database, step.campaign_id, f"{refusal}{'; ' + remedy if remedy else ''}", step=step)


def stand_still(
    database: sqlite3.Connection,
    campaign_id: int,
    message: str,
    *,
    step: CampaignStep | None = None,
    failed: bool = True,
) -> None:
    """Stop a campaign with a word why; its step too, where it is the step's fault."""
    database.execute("BEGIN IMMEDIATE")
    try:
        if step is not None:
            state = "failed" if failed else "waiting"
            update_campaign_step(database, step.id, state=state, message=message, ended_at=time.time())
        update_campaign(database, campaign_id, state="failed" if failed else "stopped", message=message)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def passed(database: sqlite3.Connection, step: CampaignStep, changes: Mapping[str, Any], *, pause: str) -> None:
    """Record what a step came to; the campaign stands still behind it where `pause` says why."""
    database.execute("BEGIN IMMEDIATE")
    try:
        update_campaign_step(database, step.id, state="done", ended_at=time.time(), message="", **changes)
        if pause:
            update_campaign(database, step.campaign_id, state="stopped", message=pause)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
