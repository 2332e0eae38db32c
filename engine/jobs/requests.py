"""What consoles may ask about jobs. Each handler changes rows only; the scheduler acts on them."""

from pathlib import Path
from typing import Any

import msgspec

from engine.commands import Handler, Request
from engine.context import Refusal
from engine.jobs.backends.launch_checks import target_of
from engine.jobs.backends.run_folders import holds_many, runs_path_of
from engine.jobs.follow_up import new_folder_name, next_try
from engine.jobs.launch_checks import check_launch
from state.job_queue import pause_queue, resume_queue
from state.jobs import add_job, open_jobs, read_job, request_stop
from state.records.jobs import ENDED, Job, Schedule


class LaunchArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `jobs.launch`."""

    argv: tuple[str, ...]
    name: str = ""
    kind: str = "command"
    working_dir: str = "/"
    environment: dict[str, str] = {}
    grace_s: float = 10.0
    recipe: str | None = None
    parameters: dict[str, Any] = {}
    """Of the recipe, to be shown and compared; the command is already made from them."""
    schedule: Schedule = Schedule()
    on: str = "local"
    """Where it runs: `local`, `slurm`, `slurm://PARTITION`, `ray://HOST:PORT`."""
    run_folder: str | None = None
    """Where the job's own folder is made, for jobs that go on with one another's work; only one of them runs at a time.
    Otherwise it lies among all runs."""


class JobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `jobs.stop` and `jobs.retry`."""

    job_id: int


class PauseArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `jobs.pause`."""

    by: str
    """Who asked."""


def launch(request: Request) -> dict[str, Any]:
    """Queue a job. Answers `job_id` and `run_folder`."""
    wanted = msgspec.convert(request.arguments, LaunchArguments)
    target = target_of(wanted.on, wanted.schedule)
    check_launch(
        wanted.argv, wanted.working_dir, wanted.environment, wanted.schedule, request, backend=target.backend
    )  # fmt: skip
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
            recipe=wanted.recipe,
            parameters=wanted.parameters,
            schedule=wanted.schedule,
            backend=target.backend,
            backend_address=target.address,
        ),
        Path(wanted.run_folder) if wanted.run_folder else runs_path_of(target, request.context.folder),
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
    return _queue(request, next_try(job, request.now), Path(job.run_folder).parent)


def pause(request: Request) -> dict[str, Any]:
    """Start no more jobs until `resume`; what runs goes on."""
    wanted = msgspec.convert(request.arguments, PauseArguments)
    pause_queue(request.database, wanted.by, request.now)
    return {}


def resume(request: Request) -> dict[str, Any]:
    """Start queued jobs again."""
    resume_queue(request.database)
    return {}


JOB_HANDLERS: dict[str, Handler] = {
    "jobs.launch": launch,
    "jobs.pause": pause,
    "jobs.resume": resume,
    "jobs.retry": retry,
    "jobs.stop": stop,
}


def _queue(request: Request, job: Job, parent: Path) -> dict[str, Any]:
    if not parent.is_absolute():
        raise Refusal(f"the run folder {parent} is not an absolute path", "give it from / on")
    if not holds_many(parent, request.context.folder):
        for other in open_jobs(request.database):
            if Path(other.run_folder).parent == parent:
                raise Refusal(f"job {other.id} works in {parent}", f"stop it first: alula jobs stop {other.id}")
    folder = parent / new_folder_name(job.kind, request.now)
    job_id = add_job(request.database, msgspec.structs.replace(job, run_folder=str(folder)))
    return {"job_id": job_id, "run_folder": str(folder)}


def _job(request: Request) -> Job:
    wanted = msgspec.convert(request.arguments, JobArguments)
    job = read_job(request.database, wanted.job_id)
    if job is None:
        raise Refusal(f"there is no job {wanted.job_id}", "see them: alula jobs list")
    return job
