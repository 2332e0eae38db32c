"""What consoles may ask about jobs. Each handler changes rows only; the scheduler acts on them."""

import re
import secrets
import time
from pathlib import Path
from typing import Any

import msgspec

from engine.commands import Request
from engine.context import Refusal
from state.jobs import add_job, open_jobs, read_job, request_stop
from state.records.jobs import ENDED, Job


class LaunchArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `jobs.launch`."""

    argv: tuple[str, ...]
    name: str = ""
    kind: str = "command"
    working_dir: str = "/"
    environment: dict[str, str] = {}
    grace_s: float = 10.0
    run_folder: str | None = None
    """Where the job's own folder is made, for jobs that go on with one another's work; only one of them runs at a time.
    Otherwise it lies among all runs."""


class JobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `jobs.stop` and `jobs.retry`."""

    job_id: int


def launch(request: Request) -> dict[str, Any]:
    """Queue a job. Answers `job_id` and `run_folder`."""
    wanted = msgspec.convert(request.arguments, LaunchArguments)
    if not wanted.argv or not wanted.argv[0]:
        raise Refusal("the command is empty", "give a program and its arguments")
    if any(
        "\0" in text for text in (*wanted.argv, wanted.working_dir, *wanted.environment, *wanted.environment.values())
    ):
        raise Refusal("the command holds a zero byte", "no program can be given one")
    if not Path(wanted.working_dir).is_dir():
        raise Refusal(f"no such folder: {wanted.working_dir}", "start it from a folder that exists")
    return _queue(
        request,
        Job(
            name=wanted.name or Path(wanted.argv[0]).name,
            kind=wanted.kind,
            argv=wanted.argv,
            working_dir=wanted.working_dir,
            environment=wanted.environment,
            grace_s=max(0.0, wanted.grace_s),
            run_folder="",
            created_at=request.now,
        ),
        Path(wanted.run_folder) if wanted.run_folder else request.context.folder.runs_path,
    )


def stop(request: Request) -> dict[str, Any]:
    """Ask for a polite stop. A job that has ended is left alone, and its state is answered."""
    job = _job(request)
    request_stop(request.database, job.id, request.now)
    return {"job_id": job.id, "state": job.state}


def retry(request: Request) -> dict[str, Any]:
    """Queue an ended job again, as a new job in a run folder of its own. Answers `job_id` and `run_folder`."""
    job = _job(request)
    if job.state not in ENDED:
        raise Refusal(f"job {job.id} is {job.state}", f"stop it first: alula jobs stop {job.id}")
    fresh = Job(
        name=job.name,
        kind=job.kind,
        argv=job.argv,
        working_dir=job.working_dir,
        environment=job.environment,
        grace_s=job.grace_s,
        run_folder="",
        created_at=request.now,
        retry_of=job.id,
    )
    return _queue(request, fresh, Path(job.run_folder).parent)


def _queue(request: Request, job: Job, parent: Path) -> dict[str, Any]:
    if not parent.is_absolute():
        raise Refusal(f"the run folder {parent} is not an absolute path", "give it from / on")
    if parent != request.context.folder.runs_path:
        for other in open_jobs(request.database):
            if Path(other.run_folder).parent == parent:
                raise Refusal(f"job {other.id} works in {parent}", f"stop it first: alula jobs stop {other.id}")
    # Never an old one: it would hold the claim of the job that ran there.
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(request.now))
    folder = parent / f"{stamp}-{_plain_name(job.kind)}-{secrets.token_hex(4)}"
    job_id = add_job(request.database, msgspec.structs.replace(job, run_folder=str(folder)))
    return {"job_id": job_id, "run_folder": str(folder)}


def _plain_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:20].strip("-") or "job"


def _job(request: Request) -> Job:
    wanted = msgspec.convert(request.arguments, JobArguments)
    job = read_job(request.database, wanted.job_id)
    if job is None:
        raise Refusal(f"there is no job {wanted.job_id}", "see them: alula jobs list")
    return job
