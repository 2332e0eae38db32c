"""Trainings of a state folder: a plan in a folder each, the job's own folder and the checkpoints beside it."""

import re
import sqlite3
from contextlib import suppress
from pathlib import Path

import msgspec
import yaml

from engine.jobs.log_series import LogMetricsReader
from engine.train.checkpoints import find_checkpoints
from engine.train.progress import TrainingProgress, progress_of
from engine.train.specforge.configuration import DRAFT_FILE, run_config
from engine.train.specforge.plan import CONFIG_FILE, PLAN_FILE, CannotPlan, TrainingPlan
from state.folder import StateFolder
from state.jobs import read_jobs
from state.records.jobs import Job

JOBS = "jobs"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def training_folder(state: StateFolder, name: str) -> Path:
    """Where a training of that name lies. Raises `CannotPlan` for a name that is no folder's."""
    if not NAME.fullmatch(name):
        raise CannotPlan(
            f"{name[:80]!r} is no name for a training", "give --name: letters, digits, . - and _, 100 at most"
        )
    return state.path / "trainings" / name


def write_plan(plan: TrainingPlan) -> None:
    """Write plan, draft config and, for SpecForge, run.yaml; an older plan is replaced, checkpoints are left alone."""
    plan.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (plan.folder / DRAFT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(plan.draft), indent=2) + b"\n")
    (plan.folder / CONFIG_FILE).write_text(yaml.safe_dump(run_config(plan), sort_keys=False))
    text = msgspec.json.encode(msgspec.to_builtins(plan, enc_hook=str))
    (plan.folder / PLAN_FILE).write_bytes(msgspec.json.format(text, indent=2) + b"\n")


def read_plan(folder: Path) -> TrainingPlan:
    """The plan in a folder. Raises `CannotPlan`."""
    try:
        return msgspec.json.decode((folder / PLAN_FILE).read_bytes(), type=TrainingPlan, dec_hook=_path)
    except FileNotFoundError as error:
        raise CannotPlan(f"there is no training in {folder}", "see them: alula train status") from error
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise CannotPlan(
            f"{folder / PLAN_FILE} cannot be read: {error}",
            "use the release of Alula that wrote it, or start it again with its options; its checkpoints are kept",
        ) from error


def plans(state: StateFolder) -> list[TrainingPlan]:
    """All trainings whose plan can be read, the newest first."""
    found = []
    for folder in _folders(state):
        with suppress(CannotPlan):
            found.append(read_plan(folder))
    return found


def all_progress(database: sqlite3.Connection, state: StateFolder) -> list[TrainingProgress]:
    """How far each training is, the newest first; `unreadable` is the state of one whose plan cannot be read."""
    found = []
    for folder in _folders(state):
        try:
            found.append(progress(database, read_plan(folder)))
        except CannotPlan:
            found.append(progress_of(folder.name, "unreadable", None, None, (), ()))
    return found


def _folders(state: StateFolder) -> list[Path]:
    files = sorted(state.path.glob(f"trainings/*/{PLAN_FILE}"), key=lambda path: -path.stat().st_mtime)
    return [path.parent for path in files]


def job_of(database: sqlite3.Connection, plan: TrainingPlan) -> Job | None:
    """The newest job of a training."""
    own = [job for job in read_jobs(database) if Path(job.run_folder).parent == plan.folder / JOBS]
    return max(own, key=lambda job: job.id, default=None)


def progress(database: sqlite3.Connection, plan: TrainingPlan) -> TrainingProgress:
    """How far a training is, its checkpoints found but not checked."""
    job = job_of(database, plan)
    series = []
    if job is not None:
        reader = LogMetricsReader(Path(job.run_folder) / "log.txt")
        reader.read()
        series = reader.series()
    state, number = (job.state, job.id) if job is not None else ("planned", None)
    return progress_of(plan.name, state, number, plan.total_steps, series, find_checkpoints(plan.output))


def _path(kind: type, value: object) -> object:
    return Path(str(value)) if kind is Path else value
