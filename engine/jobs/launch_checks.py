"""What is wrong with a launch that is asked for, as far as that can be known before it is queued."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import state.gpus
from engine.commands import Request
from engine.context import Refusal
from engine.jobs.secrets import missing_secrets
from state.jobs import read_job
from state.records.jobs import BackendName, Schedule
from state.secret_words import is_secret_name

RETRIES_LIMIT = 100


def check_launch(
    argv: Sequence[str], working_dir: str, environment: Mapping[str, str], schedule: Schedule, request: Request,
    *, backend: BackendName = "local",
) -> None:  # fmt: skip
    """Refuse what cannot run. Of a cluster's own nodes nothing is known here.

    Raises:
        Refusal: With what to do.
    """
    if not argv or not argv[0]:
        raise Refusal("the command is empty", "give a program and its arguments")
    if any("\0" in text for text in (*argv, working_dir, *environment, *environment.values())):
        raise Refusal("the command holds a zero byte", "no program can be given one")
    if backend != "ray" and not Path(working_dir).is_dir():
        raise Refusal(f"no such folder: {working_dir}", "start it from a folder that exists")
    for name, value in environment.items():
        if value and is_secret_name(name):
            raise Refusal(
                f"{name} looks like a secret, and variables are stored in the database",
                f"keep its value with `alula jobs secret set {name}`, and give its name: --secret {name}",
            )
    _check_figures(schedule)
    _check_references(schedule, request)
    if backend == "local":
        _check_gpus(schedule, request)


def _check_figures(schedule: Schedule) -> None:
    if schedule.gpus < 0 or any(index < 0 for index in schedule.gpu_choice):
        raise Refusal("a number of GPUs is negative", "give a count, or indices as `alula gpus` shows them")
    if len(set(schedule.gpu_choice)) != len(schedule.gpu_choice):
        raise Refusal("the same GPU is asked for twice", "name each index once")
    if schedule.time_limit_s is not None and schedule.time_limit_s <= 0:
        raise Refusal("the time limit is not above zero", "give seconds, or leave it out")
    if not 0 <= schedule.retries <= RETRIES_LIMIT or schedule.retry_wait_s < 0 or schedule.ready_within_s <= 0:
        raise Refusal(f"retries must be 0 to {RETRIES_LIMIT}, and waits not negative", "change the figure")
    if any(not 1 <= port <= 65535 for port in schedule.ports):
        raise Refusal("a port is not between 1 and 65535", "change it")
    for pattern in (*schedule.retry_log, *([schedule.ready_log] if schedule.ready_log else [])):
        try:
            re.compile(pattern)
        except re.error as error:
            raise Refusal(f"{pattern!r} is no regular expression: {error}", "mend it") from error


def _check_references(schedule: Schedule, request: Request) -> None:
    for other in (*schedule.after, *schedule.after_ok):
        if read_job(request.database, other) is None:
            raise Refusal(f"there is no job {other} to wait for", "see them: alula jobs list")
    if missing := missing_secrets(request.context.folder.secrets_path, schedule.secrets):
        raise Refusal(f"there is no secret {missing[0]}", f"give its value: alula jobs secret set {missing[0]}")


def _check_gpus(schedule: Schedule, request: Request) -> None:
    status = state.gpus.read_status(request.database)
    if status is None or not (schedule.gpus or schedule.gpu_choice):
        return
    if status.availability != "available":
        raise Refusal(f"it asks for GPUs, and none can be used here: {status.message}", "see: alula gpus")
    known = {gpu.index for gpu in state.gpus.read_gpus(request.database) if gpu.parent_uuid is None}
    if schedule.gpus > len(known):
        raise Refusal(f"it asks for {schedule.gpus} GPUs, and there are {len(known)}", "ask for fewer")
    if unknown := set(schedule.gpu_choice) - known:
        raise Refusal(f"there is no GPU {min(unknown)} here", "see them: alula gpus")
