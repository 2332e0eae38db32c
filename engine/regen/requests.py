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
from engine.jobs.backends.launch_checks import target_of
from engine.jobs.backends.run_folders import runs_path_of
from engine.jobs.backends.target import Target
from engine.regen.plan import PlanError, read_plan, write_plan
from engine.regen.records import FlawKind, Plan, Sampling
from engine.regen.reporting import REPORT
from engine.regen.shards import Shard, shard_folder
from engine.regen.steering import PAUSE_AT, ServerEntry, Steering, write_steering
from engine.regen.steering_requests import STEERING_HANDLERS, checked_entry
from engine.regen.store import Store
from state.jobs import read_job, request_stop
from state.records.jobs import ENDED, Schedule
from state.records.regeneration import Regeneration
from state.regenerations import add_regeneration, find_regeneration, find_regenerations, set_job, set_state

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
    shards: int = 1
    """Workers among which the samples are split by the hash of their ids."""
    on: str = "local"
    """Where the workers run: `local`, `slurm`, `slurm://PARTITION`, `ray://HOST:PORT`."""


class RunArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `regen.pause`, `regen.resume` and `regen.retry`."""

    name: str
    """Name or id of the run, or the name of a fleet."""
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
    concurrency = max(1, wanted.concurrency // wanted.shards) if wanted.concurrency else 0
    steering = Steering(
        servers=tuple(checked_entry(entry) for entry in entries),
        concurrency=concurrency or None,
        pause_at={**PAUSE_AT, **wanted.pause_at},
    )
    plan = Plan(
        name=name,
        inputs=wanted.inputs,
        server_url=wanted.server_url,
        model=wanted.model,
        sampling=wanted.sampling,
        concurrency=concurrency,
        limit=wanted.limit,
        sampling_by_source=wanted.sampling_by_source,
        samples=wanted.samples,
        tokenizer=wanted.tokenizer,
        allow_lossy=wanted.allow_lossy,
        on=wanted.on,
        created_at=request.now,
    )
    folder = _parent(request, wanted) / f"regen-{name}-{secrets.token_hex(4)}"
    if wanted.shards > 1:
        return _start_fleet(request, plan, steering, folder, wanted.shards)
    run_id = _make(request, plan, steering, folder, None)
    return {"run_id": run_id, "name": name, "run_folder": str(folder), "job_id": launch_worker(request, run_id)}


def _parent(request: Request, wanted: StartArguments) -> Path:
    """Where the run folder is made: all hosts that work on it must see it."""
    if not 1 <= wanted.shards <= 256:
        raise Refusal(f"{wanted.shards} shards", "give 1 to 256")
    target = target_of(wanted.on, Schedule())
    place = target if target.backend == "local" else Target(backend="slurm", address="slurm")
    return runs_path_of(place, request.context.folder)


def _start_fleet(request: Request, plan: Plan, steering: Steering, folder: Path, count: int) -> dict[str, Any]:
    if find_regenerations(request.database, plan.name):
        raise Refusal(f"there is a run {plan.name} already", "give another --name, or resume that one")
    write_plan(folder, plan)
    run_ids = []
    for number in range(1, count + 1):
        shard = Shard(number, count)
        own = msgspec.structs.replace(plan, name=f"{plan.name}.{number}of{count}", shard=shard)
        run_ids.append(_make(request, own, steering, shard_folder(folder, shard), plan.name))
    job_ids = [launch_worker(request, run_id) for run_id in run_ids]
    return {
        "run_id": run_ids[0], "name": plan.name, "run_folder": str(folder), "job_id": job_ids[0], "job_ids": job_ids,
    }  # fmt: skip


def _make(request: Request, plan: Plan, steering: Steering, folder: Path, fleet: str | None) -> int:
    run_id = _add(request, plan, folder, fleet)
    write_plan(folder, plan)
    write_steering(folder, steering)
    return run_id


def pause(request: Request) -> dict[str, Any]:
    """Stop the workers politely; what they have is kept."""
    runs = _find(request)
    at_work = [run for run in runs if run.state == "running" and run.job_id is not None]
    if not at_work:
        raise Refusal(f"{_named(runs)} is {runs[0].state}, not running", f"see it: alula regen status {_named(runs)}")
    for run in at_work:
        request_stop(request.database, run.job_id or 0, request.now)
    return {"run_id": runs[0].id, "name": _named(runs)}


def resume(request: Request) -> dict[str, Any]:
    """Go on with what is pending."""
    runs = _find(request)
    idle = [run for run in runs if len(runs) == 1 or (run.state != "done" and not _at_work(request, run))]
    if not idle:
        raise Refusal(f"no shard of {_named(runs)} waits", f"see it: alula regen status {_named(runs)}")
    job_ids = []
    for run in idle:
        _refuse_while_working(request, run)
        job_ids.append(launch_worker(request, run.id))
    return {"run_id": runs[0].id, "name": _named(runs), "job_id": job_ids[0], "job_ids": job_ids}


def retry(request: Request) -> dict[str, Any]:
    """Ask failed samples again. Answers how many."""
    runs = _find(request)
    for run in runs:
        _refuse_while_working(request, run)
    kind = msgspec.convert(request.arguments, RunArguments).kind
    counts = {run.id: _forget(run, kind) for run in runs}
    if not any(counts.values()):
        raise Refusal(f"{_named(runs)} has no such failures", f"see them: alula regen status {_named(runs)}")
    job_ids = [launch_worker(request, run_id) for run_id, count in counts.items() if count]
    return {
        "run_id": runs[0].id, "name": _named(runs), "count": sum(counts.values()), "job_id": job_ids[0],
        "job_ids": job_ids,
    }  # fmt: skip


def _forget(run: Regeneration, kind: str | None) -> int:
    store = Store(Path(run.run_folder))
    try:
        return store.forget_failures(kind)
    finally:
        store.close()


def launch_worker(request: Request, run_id: int) -> int:
    """Queue a worker for a run; returns the job's id."""
    run = find_regeneration(request.database, str(run_id))
    assert run is not None
    folder = Path(run.run_folder)
    (folder / REPORT).unlink(missing_ok=True)
    try:
        on = read_plan(folder).on
    except PlanError:
        on = "local"  # the worker says what is wrong with it
    arguments = {
        "argv": [sys.executable, "-m", "engine.regen.worker", run.run_folder],
        "name": f"regen {run.name}",
        "kind": "regen",
        "grace_s": GRACE_S,
        "on": on,
        "environment": {"ALULA_HOME": str(request.context.folder.path)},
    }
    nested = Request(request.database, arguments, request.context, request.now)
    job_id = int(engine.jobs.requests.launch(nested)["job_id"])
    set_job(request.database, run_id, job_id)
    return job_id


def _add(request: Request, plan: Plan, folder: Path, fleet: str | None) -> int:
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
        fleet=fleet,
    )
    try:
        return add_regeneration(request.database, record)
    except sqlite3.IntegrityError:
        raise Refusal(f"there is a run {plan.name} already", "give another --name, or resume that one") from None


def _find(request: Request) -> list[Regeneration]:
    """The run, or all of a fleet."""
    name = msgspec.convert(request.arguments, RunArguments).name
    runs = find_regenerations(request.database, name)
    if not runs:
        raise Refusal(f"there is no run {name}", "see them: alula regen list")
    return runs


def _named(runs: list[Regeneration]) -> str:
    return runs[0].name if len(runs) == 1 else str(runs[0].fleet)


def _at_work(request: Request, run: Regeneration) -> bool:
    job = read_job(request.database, run.job_id) if run.job_id is not None else None
    return job is not None and job.state not in ENDED


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
