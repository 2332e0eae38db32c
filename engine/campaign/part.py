"""The engine's part that carries campaigns on: looks each second, begins the next step, examines what has ended."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from engine.campaign.costs import cost_of
from engine.campaign.looking import look
from engine.campaign.next_move import Begin, Examine, Finish, Stop, next_move, over_limit
from engine.campaign.requests import STOPPED_RULE
from engine.campaign.specification import CampaignError, Specification, specification_of
from engine.campaign.work import begin, passed, refused, stand_still
from engine.commands import Handler
from engine.context import EngineContext, Refusal
from state.campaigns import read_campaign, read_campaign_steps, running_campaigns, update_campaign
from state.errors import StateError
from state.jobs import read_job
from state.records.campaigns import Campaign, CampaignStep
from state.records.jobs import Job

if TYPE_CHECKING:  # imported when a campaign first needs them
    from engine.campaign.examining import Outcome
    from engine.campaign.order import Order

LOOK_S = 1.0
log = logging.getLogger(__name__)
Steps = tuple[CampaignStep, ...]


def campaigns_part(handlers: Mapping[str, Handler]) -> Callable[[EngineContext], Awaitable[None]]:
    """The part; `handlers` are those of all commands of the engine."""

    async def run(context: EngineContext) -> None:
        database = context.database()
        try:
            while True:
                for campaign in running_campaigns(database):
                    try:
                        await carry_on(database, context, handlers, campaign)
                    except (CampaignError, StateError) as error:  # the others go on
                        stand_still(database, campaign.id, f"{error}; {error.remedy}")
                    call_out(database, context, campaign.id)
                await asyncio.sleep(LOOK_S)
        finally:
            database.close()

    return run


async def carry_on(
    database: sqlite3.Connection, context: EngineContext, handlers: Mapping[str, Handler], campaign: Campaign
) -> None:
    """Make one move of a campaign.

    Raises:
        CampaignError, StateError: What is stored of it cannot be read.
    """
    steps = read_campaign_steps(database, campaign.id)
    wanted = specification_of(campaign)
    limit = over_limit(wanted.limits, cost_of(steps, jobs_of(database, steps), wanted.limits, time.time()))
    match next_move(steps, look(database, steps), limit):
        case Begin(step):
            await _begin(database, context, handlers, campaign, wanted, step, steps)
        case Examine(step):
            outcome = await asyncio.to_thread(_examine, context, wanted, step)
            _record(database, campaign, step, outcome, steps)
        case Stop(step, message, failed):
            stand_still(database, campaign.id, message, step=step, failed=failed)
        case Finish():
            update_campaign(database, campaign.id, state="done", ended_at=time.time(), message="", single_step=False)


def call_out(database: sqlite3.Connection, context: EngineContext, campaign_id: int) -> None:
    """An alert for a campaign that has just failed; going on with it clears the alert."""
    campaign = read_campaign(database, campaign_id)
    if campaign is not None and campaign.state == "failed":
        context.raise_alert(
            rule=STOPPED_RULE,
            subject=f"campaign {campaign.name}",
            severity="error",
            title="A campaign stands still",
            cause=campaign.message,
            remedy=f"mend it, then: alula campaign resume {campaign.name}",
        )


def jobs_of(database: sqlite3.Connection, steps: Steps) -> dict[int, Job]:
    """Every job that worked on these steps, by id."""
    found = (read_job(database, number) for step in steps for number in step.job_ids)
    return {job.id: job for job in found if job is not None}


async def _begin(
    database: sqlite3.Connection,
    context: EngineContext,
    handlers: Mapping[str, Handler],
    campaign: Campaign,
    wanted: Specification,
    step: CampaignStep,
    steps: Steps,
) -> None:
    try:
        order = await asyncio.to_thread(_order, context, campaign, wanted, step, steps)
        begin(database, context, handlers, step, order)
    except (Refusal, CampaignError, OSError) as refusal:
        refused(database, step, refusal)
    except (sqlite3.Error, MemoryError):
        raise
    except Exception as error:
        log.exception("campaign %s, step %s", campaign.name, step.name)
        refused(database, step, CampaignError(f"{type(error).__name__}: {error}", "see alula engine status"))


def _order(
    context: EngineContext, campaign: Campaign, wanted: Specification, step: CampaignStep, steps: Steps
) -> "Order":
    from engine.campaign.orders import order_of
    from engine.campaign.surroundings import surroundings

    with closing(context.database()) as database:
        around = surroundings(database, Path(campaign.folder), context.folder.path, wanted, step, steps)
    return order_of(wanted, step, steps, around)


def _examine(context: EngineContext, wanted: Specification, step: CampaignStep) -> "Outcome":
    from engine.campaign.examining import examine

    with closing(context.database()) as database:
        return examine(database, wanted, step)


def _record(
    database: sqlite3.Connection, campaign: Campaign, step: CampaignStep, outcome: "Outcome", steps: Steps
) -> None:
    if outcome.problem:
        stand_still(database, campaign.id, outcome.problem, step=step)
        return
    following = next((one.name for one in steps if one.position > step.position and one.state != "done"), "")
    changes = {
        "figures": outcome.figures,
        "outputs": {**step.outputs, **outcome.outputs},
        "digests": {**step.digests, **outcome.digests},
    }
    passed(database, step, changes, pause=f"the next step is {following}" if campaign.single_step and following else "")
