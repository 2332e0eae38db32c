"""How the work of a step stands, as the database tells it."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from engine.campaign.next_move import Work, WorkState
from state.bench import find_bench
from state.data import preparation_of
from state.jobs import read_job
from state.records.campaigns import CampaignStep
from state.records.jobs import ENDED, Job
from state.regenerations import find_regeneration

_OF_JOB: dict[str, WorkState] = {"done": "ended", "failed": "failed", "stopped": "stopped", "lost": "lost"}


def look(database: sqlite3.Connection, steps: Sequence[CampaignStep]) -> dict[int, Work]:
    """The work of each step that runs, and of servers that were started."""
    return {
        step.id: work_of(database, step)
        for step in steps
        if step.state == "running" or (step.kind == "serve" and step.state == "done")
    }


def work_of(database: sqlite3.Connection, step: CampaignStep) -> Work:
    """How the work of one step stands."""
    job = read_job(database, step.job_ids[-1]) if step.job_ids else None
    match step.kind:
        case "bench":
            return _recorded(find_bench(database, step.work), job)
        case "data":
            return _preparation(database, step, job)
        case "regen":
            return _regeneration(database, step.work)
        case "serve":
            return _server(job)
        case "release":
            return Work("ended") if job is None or job.state in ENDED else Work("running")
        case _:
            return _job(job)


def _job(job: Job | None) -> Work:
    if job is None:
        return Work("none")
    return Work(_OF_JOB.get(job.state, "running"), f"job {job.id}: {job.reason}" if job.reason else "")


def _server(job: Job | None) -> Work:
    """Ready counts as ended: the next step can begin. A server whose job has ended has failed, however it ended."""
    if job is None:
        return Work("none")
    if job.state in ENDED:
        found = _job(job)
        return Work("failed", f"its server ended: {job.reason or job.state}") if found.state == "ended" else found
    return Work("ended" if job.ready_at is not None else "running")


def _recorded(found: object, job: Job | None) -> Work:
    """Work that tells of itself in a row; one that says that it runs while its job has ended was killed."""
    state, message = str(getattr(found, "state", "")), str(getattr(found, "message", ""))
    if state == "done":
        return Work("ended", message)
    if state in ("failed", "stopped"):
        return Work("stopped" if state == "stopped" else "failed", message)
    by_job = _job(job)
    return Work("lost", by_job.message or "its worker was killed") if by_job.state in ("ended", "failed") else by_job


def _preparation(database: sqlite3.Connection, step: CampaignStep, job: Job | None) -> Work:
    """One that was there already has neither job nor row, only its manifest."""
    if job is None:
        return Work("ended" if (Path(step.work) / "manifest.json").is_file() else "none")
    return _recorded(preparation_of(database, str(Path(step.work) / "work")), job)


def _regeneration(database: sqlite3.Connection, name: str) -> Work:
    """Its own part of the engine starts a killed worker again, so it runs until it says otherwise."""
    run = find_regeneration(database, name)
    if run is None:
        return Work("none")
    if run.state == "running":
        return Work("running", run.message)
    return Work("ended" if run.state == "done" else "failed" if run.state == "failed" else "stopped", run.message)
