"""Reads what a campaign's view is made from."""

import sqlite3
import time

from engine.campaign.specification import CampaignError
from engine.campaign.view import unreadable_view, view_of
from state.campaigns import read_campaign_steps
from state.errors import StateError
from state.jobs import read_job
from state.records.campaigns import Campaign, CampaignStep, CampaignView
from state.regenerations import find_regeneration, latest_progress


def read_view(database: sqlite3.Connection, campaign: Campaign) -> CampaignView:
    """A campaign as it stands now; where what is stored of it cannot be read, that word and what to do."""
    steps: tuple[CampaignStep, ...] = ()
    try:
        steps = read_campaign_steps(database, campaign.id)
        found = (read_job(database, number) for step in steps for number in step.job_ids)
        jobs = {job.id: job for job in found if job is not None}
        return view_of(campaign, steps, jobs, time.time(), _regenerating(database, steps))
    except CampaignError as error:
        return unreadable_view(campaign, steps, error)
    except StateError as error:
        return unreadable_view(campaign, steps, CampaignError(str(error), error.remedy))


def _regenerating(database: sqlite3.Connection, steps: tuple[CampaignStep, ...]) -> dict[str, int]:
    """Counts of a regeneration that has not ended."""
    step = next((one for one in steps if one.kind == "regen" and one.work and one.state != "done"), None)
    run = find_regeneration(database, step.work) if step is not None else None
    progress = latest_progress(database, run.id) if run is not None else None
    if run is None or progress is None:
        return {}
    return {"total": run.total, "done": progress.done, "failed": progress.failed}
