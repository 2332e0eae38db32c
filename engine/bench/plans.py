"""A plan becomes a run folder; names, limits and the lock that only one worker holds."""

import fcntl
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.bench.cells import PLAN, write_json
from engine.bench.records import BenchError, Load, Plan

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
MOST_CONCURRENCY = 8192


def fresh_folder(runs_path: Path, plan: Plan) -> Path:
    """Make a run folder with the plan in it.

    Raises:
        BenchError: The plan cannot be carried out.
    """
    validate(plan)
    folder = runs_path / f"bench-{plan.name}-{secrets.token_hex(4)}"
    write_plan(folder, plan)
    return folder


def write_plan(folder: Path, plan: Plan) -> None:
    """Put the plan into its folder, which is made where it is missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_json(folder / PLAN, plan)


def validate(plan: Plan) -> None:
    """Refuse what cannot be carried out.

    Raises:
        BenchError: Saying what and what to do.
    """
    for name in (plan.name, *(point.name for point in plan.points)):
        if not NAME.fullmatch(name):
            raise BenchError(
                f"the name {name[:80]!r} cannot be used", "letters, digits, dot, dash and underscore, 60 at most"
            )
    names = [point.name for point in plan.points]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BenchError(f"two points are called {', '.join(twice)}", "give each a name of its own")
    if not plan.points or not plan.loads:
        raise BenchError("there is nothing to measure", "name at least one server and one concurrency or rate")
    if plan.baseline and plan.baseline not in names:
        raise BenchError(f"the baseline {plan.baseline} is none of the points", f"take one of {', '.join(names)}")
    _validate_loads(plan)
    for point in plan.points:
        if bool(point.url) == bool(point.command):
            raise BenchError(f"{point.name} needs a url or a command, and not both", "give one of them")


def _validate_loads(plan: Plan) -> None:
    for load in plan.loads:
        _validate_load(load)
    if len({load.name for load in plan.loads}) < len(plan.loads):
        raise BenchError("a load is given twice", "give each concurrency and each rate once")
    if plan.repeats < 1 or plan.sampling.max_tokens < 1:
        raise BenchError("repeats and max_tokens must be 1 or more", "give larger ones")


def _validate_load(load: Load) -> None:
    if (load.concurrency is None) == (load.rate is None):
        raise BenchError("a load needs a concurrency or a rate, and not both", "give one of them")
    if load.concurrency is not None and not 1 <= load.concurrency <= MOST_CONCURRENCY:
        raise BenchError(f"a concurrency of {load.concurrency}", f"give 1 to {MOST_CONCURRENCY}")
    if load.rate is not None and not 0 < load.rate < 1e6:
        raise BenchError(f"a rate of {load.rate:g} requests/s", "give one above 0")
    for name, value in (("requests", load.requests), ("duration_s", load.duration_s)):
        if value is not None and not value > 0:
            raise BenchError(f"{name} = {value:g}", "give one above 0")


def in_order(plan: Plan) -> Plan:
    """The baseline first: the others are compared with it while their servers are up."""
    points = sorted(plan.points, key=lambda point: point.name != plan.baseline)
    return msgspec.structs.replace(plan, points=tuple(points))


def command_flag(words: Sequence[str], flag: str) -> str:
    """The last value of a flag in a command; empty where it is not there."""
    found = ""
    for place, word in enumerate(words):
        if word == flag:
            found = words[place + 1] if place + 1 < len(words) else ""
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def lock_folder(folder: Path) -> int:
    """Be the only worker of a run folder for as long as the process lives.

    Raises:
        BenchError: Another one is at work, or it cannot be written.
    """
    try:
        descriptor = os.open(folder / "worker.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BenchError(f"cannot work in {folder}: {error.strerror}", "see who owns it") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise BenchError(f"another worker is at work on {folder}", "nothing to do; see alula bench show") from None
    return descriptor
