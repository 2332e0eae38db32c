"""What of this host stands against a launch: program, ports, GPUs, memory, disks, all known before it starts."""

import shutil
import sqlite3
import time
from pathlib import Path
from typing import Literal

import msgspec

from engine.jobs.admission import Surroundings, admissions
from engine.jobs.ports import is_free
from engine.jobs.recipes.amounts import bytes_of
from engine.jobs.recipes.command import Launch
from engine.jobs.recipes.records import Recipe
from engine.jobs.surroundings import read_surroundings
from state.jobs import open_jobs
from state.records.jobs import Job
from state.secret_words import shown_argv

FULL_BYTES = 256 << 20
"""Less free space than this on a disk that a job writes to is an error whatever the recipe says."""
_NEXT = 1 << 60


class Problem(msgspec.Struct, frozen=True):
    """Something that stands against a launch. An error keeps it from starting unless its rule is overridden by name."""

    rule: str
    severity: Literal["error", "warning", "info"]
    title: str
    remedy: str = ""


def host_problems(launch: Launch, recipe: Recipe, runs_path: Path, database: sqlite3.Connection) -> list[Problem]:
    """What is wrong, errors first."""
    found = [
        *_program(launch),
        *_secrets(launch),
        *_ports(launch),
        *_disks(launch, recipe, runs_path),
        *_queue(launch, database),
    ]
    return sorted(found, key=lambda one: ("error", "warning", "info").index(one.severity))


def free_now(database: sqlite3.Connection, working_dir: str) -> str:
    """What the host has free for a job, in one line."""
    import psutil

    around, holders = _around(database, _asking(Job(name="", kind="", argv=(), working_dir="/", run_folder="",
                                                    created_at=0.0), gpus=1))  # fmt: skip
    memory = psutil.virtual_memory()
    parts = [_gpu_words(around, holders), f"memory {memory.available >> 30} of {memory.total >> 30} GiB"]
    if (free := _free_bytes(Path(working_dir))) is not None:
        parts.append(f"disk {free >> 30} GiB")
    return "free now: " + ", ".join(parts)


def _gpu_words(around: Surroundings, holders: dict[int, str]) -> str:
    if not around.devices:
        return "no GPU" if around.devices is not None else "GPUs not looked at yet"
    free = [one.index for one in around.devices if one.taken_by is None and one.index not in holders]
    return f"GPU {' '.join(map(str, free)) or 'none'} of {len(around.devices)}"


def _program(launch: Launch) -> list[Problem]:
    program = launch.argv[0] if launch.argv else ""
    if not Path(launch.working_dir).is_dir():
        return [Problem("folder-missing", "error", f"there is no folder {launch.working_dir}", "make it, or change it")]
    path = launch.environment.get("PATH")
    place = str(Path(launch.working_dir) / program) if "/" in program else program
    if program and shutil.which(place, path=path) is None:
        title = f"{program} is no program that can be run"
        return [Problem("binary-not-found", "error", title, "give its whole path, or install it")]
    return []


def _secrets(launch: Launch) -> list[Problem]:
    if shown_argv(launch.argv) == launch.argv:
        return []
    title = "the command holds a secret: commands are stored, and seen by every user of this host"
    return [Problem("secret-in-command", "warning", title, "give it as a variable: --secret NAME")]


def _ports(launch: Launch) -> list[Problem]:
    remedy = "leave the port empty for a free one, or stop what listens there: ss -ltnp"
    return [
        Problem("port-in-use", "error", f"something listens at port {port}", remedy)
        for port in launch.schedule.ports
        if not is_free(port)
    ]


def _disks(launch: Launch, recipe: Recipe, runs_path: Path) -> list[Problem]:
    wanted = bytes_of(recipe.resources.disk or "0")
    found = []
    for path, wish in ((runs_path, 0), (Path(launch.working_dir), wanted)):
        free = _free_bytes(path)
        if free is None:
            continue
        if free < FULL_BYTES:
            title = f"the disk of {path} is full: {free >> 20} MiB are free"
            found.append(Problem("disk-full", "error", title, "free space, or work elsewhere"))
        elif free < wish:
            title = f"{free >> 30} GiB are free on the disk of {path}, and it may need {wish >> 30}"
            found.append(Problem("disk-small", "warning", title, "free space, or work elsewhere"))
    return found


def _free_bytes(path: Path) -> int | None:
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _queue(launch: Launch, database: sqlite3.Connection) -> list[Problem]:
    """What the queue itself would say of it."""
    asking = Job(
        id=_NEXT, name=launch.name, kind=launch.kind, argv=launch.argv, working_dir=launch.working_dir, run_folder="",
        created_at=0.0, schedule=launch.schedule,
    )  # fmt: skip
    jobs = [*open_jobs(database), asking]
    verdict = admissions(jobs, read_surroundings(database, jobs, time.time()))[_NEXT]
    if verdict.never:
        return [Problem("cannot-start", "error", verdict.never, "ask for less, or for other GPUs")]
    if verdict.waits and not any(not is_free(port) for port in launch.schedule.ports):
        return [Problem("will-wait", "warning" if "GPU" in verdict.waits else "info", f"it {verdict.waits}"
                        if verdict.waits.startswith("waits") else verdict.waits, "")]  # fmt: skip
    return []


def _asking(job: Job, gpus: int) -> Job:
    return msgspec.structs.replace(job, id=_NEXT, schedule=msgspec.structs.replace(job.schedule, gpus=gpus))


def _around(database: sqlite3.Connection, asking: Job) -> tuple[Surroundings, dict[int, str]]:
    jobs = open_jobs(database)
    holders = {index: f"job {job.id}" for job in jobs for index in job.gpus}
    return read_surroundings(database, [*jobs, asking], time.time()), holders
