"""What consoles may ask about regenerations."""

import re
import secrets
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

import engine.jobs.requests
from engine.commands import Handler, Request
from engine.context import Refusal
from engine.regen.plan import write_plan
from engine.regen.records import FlawKind, Plan, Sampling
from engine.regen.steering import PAUSE_AT, ServerEntry, Steering, write_steering
from engine.regen.steering_requests import STEERING_HANDLERS, checked_entry
from engine.regen.store import Store
from state.jobs import read_job, request_stop
from state.records.jobs import ENDED
from state.records.regeneration import Regeneration
from state.regenerations import add_regeneration, find_regeneration, set_job, set_state

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
GRACE_S = 20.0


class StartArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `regen.start`."""

    inputs: tuple[str, ...]
    server_url: str
    model: str
    name: str = ""
    sampling: Sampling = Sampling()
    concurrency: int = 0
    """Requests at once; 0: found by trying."""
    limit: int | None = None
    more_servers: tuple[ServerEntry, ...] = ()
    """Beside `server_url`."""
    weight: float = 1.0
    """Of `server_url`."""
    sampling_by_source: dict[str, Sampling] = {}
    samples: int = 1
    tokenizer: str | None = None
    allow_lossy: bool = False
    pause_at: dict[FlawKind, float] = {}


class RunArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `regen.pause`, `regen.resume` and `regen.retry`."""

    name: str
    """Name or id of the run."""
    kind: str | None = None
    """For `regen.retry`: only failures of this kind."""


def start(request: Request) -> dict[str, Any]:
    """Make a run folder and queue its worker. Answers `run_id`, `name`, `run_folder` and `job_id`."""
    wanted = msgspec.convert(request.arguments, StartArguments)
    name = wanted.name or f"{Path(wanted.inputs[0]).name.split('.')[0]}-{time.strftime('%m%d-%H%M%S')}"
    name = name if wanted.name else re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "run"
    if not _NAME.fullmatch(name):
        raise Refusal(f"the name {name!r} cannot be used", "letters, digits, dot, dash and underscore, 60 at most")
    if not 0 <= wanted.concurrency <= 4096:
        raise Refusal(f"a concurrency of {wanted.concurrency}", "give 1 to 4096, or 0 to have it found")
    entries = (ServerEntry(wanted.server_url, wanted.weight), *wanted.more_servers)
    steering = Steering(
        servers=tuple(checked_entry(entry) for entry in entries),
        concurrency=wanted.concurrency or None,
        pause_at={**PAUSE_AT, **wanted.pause_at},
    )
    folder = request.context.folder.runs_path / f"regen-{name}-{secrets.token_hex(4)}"
    plan = Plan(
        name=name,
        inputs=wanted.inputs,
        server_url=wanted.server_url,
        model=wanted.model,
        sampling=wanted.sampling,
        concurrency=wanted.concurrency,
        limit=wanted.limit,
        sampling_by_source=wanted.sampling_by_source,
        samples=wanted.samples,
        tokenizer=wanted.tokenizer,
        allow_lossy=wanted.allow_lossy,
        created_at=request.now,
    )
    run_id = _add(request, plan, folder)
    write_plan(folder, plan)
    write_steering(folder, steering)
    return {"run_id": run_id, "name": name, "run_folder": str(folder), "job_id": launch_worker(request, run_id)}


def pause(request: Request) -> dict[str, Any]:
    """Stop the worker politely; what it has is kept."""
    run = _find(request)
    if run.state != "running" or run.job_id is None:
        raise Refusal(f"{run.name} is {run.state}, not running", f"see it: alula regen status {run.name}")
    request_stop(request.database, run.job_id, request.now)
    return {"run_id": run.id, "name": run.name}


def resume(request: Request) -> dict[str, Any]:
    """Go on with what is pending."""
    run = _find(request)
    _refuse_while_working(request, run)
    return {"run_id": run.id, "name": run.name, "job_id": launch_worker(request, run.id)}


def retry(request: Request) -> dict[str, Any]:
    """Ask failed samples again. Answers how many."""
    run = _find(request)
    _refuse_while_working(request, run)
    store = Store(Path(run.run_folder))
    try:
        count = store.forget_failures(msgspec.convert(request.arguments, RunArguments).kind)
    finally:
        store.close()
    if count == 0:
        raise Refusal(f"{run.name} has no such failures", f"see them: alula regen status {run.name}")
    return {"run_id": run.id, "name": run.name, "count": count, "job_id": launch_worker(request, run.id)}


def launch_worker(request: Request, run_id: int) -> int:
    """Queue a worker for a run; returns the job's id."""
    run = find_regeneration(request.database, str(run_id))
    assert run is not None
    arguments = {
        "argv": [sys.executable, "-m", "engine.regen.worker", run.run_folder],
        "name": f"regen {run.name}",
        "kind": "regen",
        "grace_s": GRACE_S,
        "environment": {"ALULA_HOME": str(request.context.folder.path)},
    }
    nested = Request(request.database, arguments, request.context, request.now)
    job_id = int(engine.jobs.requests.launch(nested)["job_id"])
    set_job(request.database, run_id, job_id)
    return job_id


def _add(request: Request, plan: Plan, folder: Path) -> int:
    record = Regeneration(
        name=plan.name,
        run_folder=str(folder),
        inputs=plan.inputs,
        server_url=plan.server_url,
        model=plan.model,
        sampling=msgspec.to_builtins(plan.sampling),
        concurrency=plan.concurrency,
        total=0,
        created_at=plan.created_at,
    )
    try:
        return add_regeneration(request.database, record)
    except sqlite3.IntegrityError:
        raise Refusal(f"there is a run {plan.name} already", "give another --name, or resume that one") from None


def _find(request: Request) -> Regeneration:
    name = msgspec.convert(request.arguments, RunArguments).name
    run = find_regeneration(request.database, name)
    if run is None:
        raise Refusal(f"there is no run {name}", "see them: alula regen list")
    return run


def _refuse_while_working(request: Request, run: Regeneration) -> None:
    job = read_job(request.database, run.job_id) if run.job_id is not None else None
    if job is not None and job.state not in ENDED:
        remedy = (
            "wait until it has stopped" if job.stop_requested_at else f"pause it first: alula regen pause {run.name}"
        )
        raise Refusal(f"{run.name} is at work as job {job.id}", remedy)
    if run.state == "running":
        set_state(request.database, run.id, "paused")


REGENERATION_HANDLERS: dict[str, Handler] = {
    "regen.pause": pause,
    "regen.resume": resume,
    "regen.retry": retry,
    "regen.start": start,
    **STEERING_HANDLERS,
}
