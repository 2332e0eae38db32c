"""What consoles may ask about benchmarks."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import msgspec

import engine.jobs.requests
from engine.bench.plans import fresh_folder, in_order
from engine.bench.records import BenchError, Plan
from engine.commands import Handler, Request
from engine.context import Refusal
from state.bench import add_bench, find_bench, set_bench_job
from state.jobs import read_job, request_stop
from state.records.bench import Bench
from state.records.jobs import ENDED

GRACE_S = 240.0
"""A stop waits for the end of the server that it has started."""


class StartArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `bench.start`."""

    plan: Plan


class BenchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `bench.stop` and `bench.resume`."""

    name: str
    """Name or id."""


def start(request: Request) -> dict[str, Any]:
    """Make a run folder and queue its worker. Answers `bench_id`, `name`, `run_folder` and `job_id`."""
    wanted = msgspec.convert(request.arguments, StartArguments).plan
    plan = in_order(msgspec.structs.replace(wanted, created_at=request.now))
    if find_bench(request.database, plan.name) is not None:
        raise Refusal(f"there is a benchmark {plan.name} already", "give another --name, or resume that one")
    try:
        folder = fresh_folder(request.context.folder.runs_path, plan)
    except BenchError as error:
        raise Refusal(str(error), error.remedy) from error
    bench = Bench(
        name=plan.name,
        kind=plan.kind,
        run_folder=str(folder),
        points=len(plan.points),
        cells=len(plan.points) * len(plan.loads) * plan.repeats,
        created_at=plan.created_at,
    )
    try:
        bench_id = add_bench(request.database, bench)
    except sqlite3.IntegrityError:
        raise Refusal(f"there is a benchmark {plan.name} already", "give another --name") from None
    found = msgspec.structs.replace(bench, id=bench_id)
    return {
        "bench_id": bench_id,
        "name": plan.name,
        "run_folder": str(folder),
        "job_id": _launch(request, found),
    }


def stop(request: Request) -> dict[str, Any]:
    """Stop the worker politely; complete cells are kept."""
    bench = _find(request)
    job = read_job(request.database, bench.job_id) if bench.job_id is not None else None
    if job is None or job.state in ENDED:
        raise Refusal(f"{bench.name} is {bench.state}, not running", f"see it: alula bench show {bench.name}")
    request_stop(request.database, job.id, request.now)
    return {"bench_id": bench.id, "name": bench.name}


def resume(request: Request) -> dict[str, Any]:
    """Measure what is not complete."""
    bench = _find(request)
    job = read_job(request.database, bench.job_id) if bench.job_id is not None else None
    if job is not None and job.state not in ENDED:
        raise Refusal(f"{bench.name} is at work as job {job.id}", f"stop it first: alula bench stop {bench.name}")
    if not Path(bench.run_folder).is_dir():
        raise Refusal(f"its run folder {bench.run_folder} is gone", "start it anew")
    return {"bench_id": bench.id, "name": bench.name, "job_id": _launch(request, bench)}


def _launch(request: Request, bench: Bench) -> int:
    arguments = {
        "argv": [sys.executable, "-m", "engine.bench.worker", bench.run_folder],
        "name": f"bench {bench.name}",
        "kind": "bench",
        "grace_s": GRACE_S,
        "environment": {"ALULA_HOME": str(request.context.folder.path)},
    }
    nested = Request(request.database, arguments, request.context, request.now)
    job_id = int(engine.jobs.requests.launch(nested)["job_id"])
    set_bench_job(request.database, bench.id, job_id)
    return job_id


def _find(request: Request) -> Bench:
    name = msgspec.convert(request.arguments, BenchArguments).name
    bench = find_bench(request.database, name)
    if bench is None:
        raise Refusal(f"there is no benchmark {name}", "see them: alula bench show")
    return bench


BENCH_HANDLERS: dict[str, Handler] = {"bench.resume": resume, "bench.start": start, "bench.stop": stop}
