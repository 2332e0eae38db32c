"""Begins searches and preparations as jobs."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from engine.commands import Request
from engine.context import Refusal
from engine.data.discovery.beginning import SearchError, begin_search
from engine.data.discovery.search import SearchRequest
from engine.data.plan.reading import read_plan
from engine.data.plan.records import PlanError
from engine.data.prepare.output_folder import begin_output
from engine.data.prepare.run import WORK
from engine.jobs.requests import launch
from state.data import add_preparation, preparation_of, update_preparation
from state.outside_file import read_small_text
from state.records.data import DataPreparation

GRACE_S = 30.0


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `data.search`."""

    request: SearchRequest


class PrepareArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `data.prepare`."""

    plan_path: str
    output_folder: str
    workers: int
    restart: bool = False


def search(request: Request) -> dict[str, Any]:
    """Begin a search, or go on with a stopped one. Answers `search_id`, `job_id` and `run_folder`."""
    wanted = msgspec.convert(request.arguments, SearchArguments).request
    try:
        begun = begin_search(request.database, request.context.folder.runs_path, wanted)
    except SearchError as error:
        raise Refusal(str(error), error.remedy) from error
    except OSError as error:
        raise Refusal(f"cannot write {error.filename}: {error.strerror}", "free space, or see its rights") from error
    argv = ["-m", "engine.data.discovery.worker", begun.run_folder, str(begun.id)]
    job_id = _job(request, f"search {wanted.name}", argv, begun.run_folder)
    return {"search_id": begun.id, "job_id": job_id, "run_folder": begun.run_folder}


def prepare(request: Request) -> dict[str, Any]:
    """Run a plan, or go on with it. Answers `job_id`, or `done` where all of it is there already."""
    wanted = msgspec.convert(request.arguments, PrepareArguments)
    path, output = Path(wanted.plan_path), Path(wanted.output_folder)
    try:
        plan = read_plan(path)
        output.mkdir(parents=True, exist_ok=True)
        finished = begin_output(output, plan, read_small_text(path), restart=wanted.restart)
    except PlanError as error:
        raise Refusal(str(error), error.remedy) from error
    except OSError as error:
        raise Refusal(f"cannot write {output}: {error.strerror}", "choose another output folder") from error
    if finished is not None:
        return {"done": True, "output_folder": str(output)}
    argv = ["-m", "engine.data.prepare.worker", str(output), str(wanted.workers)]
    job_id = _job(request, f"data {plan.name}", argv, None)
    record = DataPreparation(
        name=plan.name,
        run_folder=str(output / WORK),
        plan_path=str(path),
        output_folder=str(output),
        created_at=request.now,
        job_id=job_id,
    )
    known = preparation_of(request.database, record.run_folder)
    if known is None:
        add_preparation(request.database, record)
    else:
        changes = {"state": "running", "message": "", "ended_at": None, "plan_path": str(path)}
        update_preparation(request.database, known.id, job_id=record.job_id, **changes)
    return {"job_id": job_id, "output_folder": str(output)}


def _job(request: Request, name: str, arguments: list[str], run_folder: str | None) -> int:
    wanted = {
        "argv": [sys.executable, *arguments],
        "name": name,
        "kind": "data",
        "grace_s": GRACE_S,
        "environment": {"ALULA_HOME": str(request.context.folder.path)},
        "run_folder": run_folder,
    }
    return int(launch(Request(request.database, wanted, request.context, request.now))["job_id"])
