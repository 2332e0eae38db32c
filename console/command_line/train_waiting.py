"""Waits for a training: for scripts, and for campaigns, whose step is the job that waits."""

import signal
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import click

from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.folder import StateFolder
from state.jobs import read_job
from state.outside_text import plain_line
from state.records.jobs import ENDED, Job

LOOK_S = 1.0


def join_running(folder: StateFolder, options: Mapping[str, Any], *, wait: bool) -> None:
    """Where the training of this name is at work already: wait for that, and end with its code.

    Raises:
        CannotPlan: It is at work, and nobody is to wait for it.
    """
    from engine.train.specforge.plan import CannotPlan
    from engine.train.store import job_of, read_plan, training_folder

    try:
        plan = read_plan(training_folder(folder, options["name"] or options["data"].stem))
    except CannotPlan:
        return
    with closing(open_database(folder.database_path)) as database:
        job = job_of(database, plan)
    if job is None or job.state in ENDED:
        return
    if not wait:
        raise CannotPlan(f"{plan.name} is at work as job {job.id}", "wait for it: --wait; or give another --name")
    sys.exit(wait_for_end(folder, job.id))


def wait_for_end(folder: StateFolder, job_id: int) -> int:
    """Wait until a job has ended; returns the exit code. SIGTERM and Ctrl-C stop the job, and its end is waited for."""
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stopping.append(number))
    asked = False
    with closing(open_database(folder.database_path)) as database:
        while (job := read_job(database, job_id)) is not None and job.state not in ENDED:
            if stopping and not asked:
                asked = True
                _stop(folder, job_id)
            time.sleep(LOOK_S)
    return 128 + stopping[0] if stopping else _code(job)


def _code(job: Job | None) -> int:
    if job is not None and job.state == "done":
        return 0
    why = "its job is gone" if job is None else f"job {job.id} {job.state}: {job.reason or 'no reason known'}"
    click.echo(f"alula train: {plain_line(why, 300)}", err=True)
    return 1


def _stop(folder: StateFolder, job_id: int) -> None:
    try:
        Client(folder).ask("jobs.stop", {"job_id": job_id}, timeout_s=15.0)
    except (CommandRefused, EngineUnavailable) as error:
        click.echo(f"alula train: {error}; {error.remedy}", err=True)
        sys.exit(1)
