"""Starts a regeneration's worker again when it was killed: a night's work must not wait for the morning."""

import asyncio
import sqlite3
import time

from engine.commands import Request
from engine.context import EngineContext
from engine.regen.reports import Reports
from engine.regen.requests import launch_worker
from state.jobs import read_job
from state.records.jobs import ENDED, Job
from state.records.regeneration import Regeneration
from state.regenerations import latest_progress, read_regenerations, set_state

LOOK_S = 1.0
QUICK_DEATH_S = 30.0
QUICK_DEATHS_ALLOWED = 5

Deaths = dict[int, tuple[int, int]]
"""Run to how often in a row its worker died quickly without an outcome more, and the outcomes at the last death."""


async def revive_regenerations(context: EngineContext) -> None:
    """Look every second for runs that should be at work and are not."""
    database = context.database()
    quick_deaths: Deaths = {}
    reports = Reports()
    try:
        while True:
            for run in read_regenerations(database):
                if run.state == "running" and run.job_id is not None and not reports.take(database, run):
                    look_after(database, context, run, quick_deaths)
            await asyncio.sleep(LOOK_S)
    finally:
        database.close()


def look_after(database: sqlite3.Connection, context: EngineContext, run: Regeneration, quick_deaths: Deaths) -> None:
    """Launch a worker for a run whose last one is dead, unless the operator stopped it or it dies at once each time."""
    job = read_job(database, run.job_id or 0)
    if job is None or job.state not in ENDED:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if job.state == "stopped":
            set_state(database, run.id, "paused", f"its job was stopped; alula regen resume {run.name}")
        elif _too_often(database, job, run, quick_deaths):
            remedy = f"see alula jobs logs {job.id}, then alula regen resume {run.name}"
            set_state(database, run.id, "failed", f"its worker dies each time: {job.reason or job.state}; {remedy}")
        else:
            launch_worker(Request(database, {}, context, time.time()), run.id)
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    context.jobs_changed.set()


def _too_often(database: sqlite3.Connection, job: Job, run: Regeneration, quick_deaths: Deaths) -> bool:
    lived_s = (job.ended_at or 0.0) - (job.started_at or job.created_at)
    progress = latest_progress(database, run.id)
    outcomes = progress.done + progress.failed if progress else 0
    deaths, before = quick_deaths.get(run.id, (0, 0))
    quick = lived_s < QUICK_DEATH_S and outcomes <= before
    quick_deaths[run.id] = (deaths + 1 if quick else 0, outcomes)
    return quick_deaths[run.id][0] > QUICK_DEATHS_ALLOWED
