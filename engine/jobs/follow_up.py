"""What follows a job's end: nothing, or another try. A pure function, and the sweep that acts on it."""

import logging
import re
import secrets
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.jobs.log_end import last_lines
from state.job_queue import jobs_to_follow_up, take_follow_up
from state.jobs import add_event, add_job
from state.records.jobs import Job

QUICK_S = 60.0
"""A server that dies sooner than this after its start has died at once."""
QUICK_DEATHS = 5
"""In a row, after which a server is not started again."""
LONGEST_WAIT_S = 600.0
LINES_SEARCHED = 200
log = logging.getLogger(__name__)


class Following(msgspec.Struct, frozen=True, kw_only=True):
    """Either another try, or a reason why there is none."""

    again_at: float | None = None
    attempt: int = 0
    message: str = ""
    gives_up: bool = False
    """It was to be kept alive, and is not any more: somebody has to be told."""


def wants_follow_up(job: Job) -> bool:
    """Whether the end of a job has to be looked at."""
    return job.schedule.retries > 0 or job.schedule.restart != "never"


def following(job: Job, log_lines: Sequence[str], now: float) -> Following:
    """What follows the end of a job that `wants_follow_up`; `log_lines` are the last ones of its log."""
    if job.stop_requested_at is not None and job.stop_reason is None:
        return Following(message="not tried again: an operator stopped it")
    if job.schedule.restart == "always" or (job.schedule.restart == "on-failure" and job.state != "done"):
        return _restart(job, now)
    if job.state == "done":
        return Following()
    return _retry(job, log_lines, now)


def follow_up(database: sqlite3.Connection, now: float) -> list[tuple[Job, Following]]:
    """Decide about every ended job that nobody has decided about yet. Gives the servers that are given up."""
    given_up = []
    for job in jobs_to_follow_up(database):
        decided = following(job, last_lines(Path(job.run_folder) / "log.txt", LINES_SEARCHED), now)
        database.execute("BEGIN IMMEDIATE")
        try:
            if take_follow_up(database, job.id):
                _write(database, job, decided, now)
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
        if decided.gives_up:
            given_up.append((job, decided))
    return given_up


def next_try(job: Job, now: float, *, not_before: float | None = None, attempt: int = 0) -> Job:
    """A queued job that does the same again, in a run folder beside the old one."""
    parent = Path(job.run_folder).parent
    return Job(
        name=job.name,
        kind=job.kind,
        argv=job.argv,
        working_dir=job.working_dir,
        environment=job.environment,
        grace_s=job.grace_s,
        run_folder=str(parent / new_folder_name(job.kind, now)),
        created_at=now,
        retry_of=job.id,
        recipe=job.recipe,
        parameters=job.parameters,
        schedule=job.schedule,
        not_before=not_before,
        attempt=attempt,
        backend=job.backend,
        backend_address=job.backend_address,
    )


def new_folder_name(kind: str, now: float) -> str:
    """Of a run folder. Never an old one: it would hold the claim of the job that ran there."""
    plain = re.sub(r"[^a-z0-9]+", "-", kind.lower())[:20].strip("-") or "job"
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{plain}-{secrets.token_hex(4)}"


def _restart(job: Job, now: float) -> Following:
    quick = job.started_at is None or (job.ended_at or now) - job.started_at < QUICK_S
    attempt = job.attempt + 1 if quick else 0
    if attempt >= QUICK_DEATHS:
        message = f"not started again: it died {attempt} times in a row within {QUICK_S:.0f} s of its start"
        return Following(message=message, gives_up=True)
    return _again(job, attempt, now, "started again")


def _retry(job: Job, log_lines: Sequence[str], now: float) -> Following:
    if job.attempt >= job.schedule.retries:
        return Following(message=f"not tried again: {job.attempt + 1} tries failed")
    if not _may_pass(job, log_lines):
        return Following(message="not tried again: its recipe does not call this end a passing one")
    return _again(job, job.attempt + 1, now, f"try {job.attempt + 2} of {job.schedule.retries + 1}")


def _may_pass(job: Job, log_lines: Sequence[str]) -> bool:
    codes, patterns = job.schedule.retry_exit_codes, job.schedule.retry_log
    if job.state == "lost" or not (codes or patterns):
        return True
    return job.exit_code in codes or any(re.search(pattern, line) for pattern in patterns for line in log_lines)


def _again(job: Job, attempt: int, now: float, what: str) -> Following:
    wait_s = min(LONGEST_WAIT_S, job.schedule.retry_wait_s * 2.0 ** max(0, attempt - 1))
    return Following(again_at=now + wait_s, attempt=attempt, message=what)


def _write(database: sqlite3.Connection, job: Job, decided: Following, now: float) -> None:
    message = decided.message
    if decided.again_at is not None:
        fresh = next_try(job, now, not_before=decided.again_at, attempt=decided.attempt)
        message = f"{message} as job {add_job(database, fresh)}"
    if message:
        add_event(database, job.id, now, job.state, message)
        log.info("job %d: %s", job.id, message)
