"""Makes a launch ready: values, ports, interpreter, secrets, and everything that is wrong with it before it starts."""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine.context import Refusal
from engine.jobs.backends.launch_checks import target_of
from engine.jobs.ports import free_port
from engine.jobs.recipes.command import Launch, Wishes, build, is_port
from engine.jobs.recipes.host_checks import Problem, host_problems
from engine.jobs.recipes.interpreters import FoundInterpreter, check_import, find_interpreter
from engine.jobs.recipes.records import Recipe, Value
from engine.jobs.recipes.values import missing_path, resolve
from engine.jobs.secrets import missing_secrets
from state.jobs import open_jobs
from state.records.jobs import Schedule
from state.settings import Settings

KEPT_VARIABLES = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "HF_HOME", "LD_LIBRARY_PATH")
"""Variables of the operator's shell that a job keeps; the rest it has from the engine. They are stored: no secrets."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A launch, as far as it could be made, and what stands against it."""

    launch: Launch | None = None
    """`None` where values are wrong."""
    mistakes: dict[str, str] = {}
    """Parameter to what is wrong with its value. They cannot be overridden."""
    problems: tuple[Problem, ...] = ()
    interpreter: FoundInterpreter | None = None

    def standing(self, overridden: frozenset[str]) -> tuple[Problem, ...]:
        """Errors that nobody has overridden by name."""
        return tuple(one for one in self.problems if one.severity == "error" and one.rule not in overridden)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a launch is made."""

    working_dir: str
    secrets_path: Path
    runs_path: Path
    settings: Settings = Settings()


def prepare(
    recipe: Recipe, given: Mapping[str, Value | None], wishes: Wishes, place: Place, database: sqlite3.Connection, *,
    chosen_python: str | None = None, thorough: bool = True, known: FoundInterpreter | None = None,
) -> Prepared:  # fmt: skip
    """Make it ready. `thorough` tries the import too; `known` is an interpreter that was looked at already."""
    values, mistakes = resolve(recipe, given)
    local = wishes.on == "local"
    interpreter = _interpreter(recipe, chosen_python, place, known, thorough=thorough and local)
    if mistakes:
        return Prepared(mistakes=mistakes, interpreter=interpreter)
    values = with_ports(recipe, values, database)
    if not wishes.on.startswith("ray"):  # which is sent no secrets
        wishes = _with_secrets(recipe, wishes, place)
    python = interpreter.path if interpreter else ""
    launch = build(recipe, values, wishes, python=python, working_dir=place.working_dir)
    launch = msgspec.structs.replace(launch, environment={**_kept(), **launch.environment})
    if local:
        for name, value in values.items():
            if problem := missing_path(recipe.parameters[name], value, launch.working_dir):
                mistakes[name] = problem
    problems = [] if local and interpreter is None else _interpreter_problems(interpreter, local=local)
    if local:
        problems += host_problems(launch, recipe, place.runs_path, database)
    problems += _place_problems(wishes.on, launch.schedule)
    if wishes.on == "local" and (missing := missing_secrets(place.secrets_path, launch.schedule.secrets)):
        remedy = f"give its value: alula jobs secret set {missing[0]}"
        problems.append(Problem("secret-missing", "error", f"there is no secret {missing[0]}", remedy))
    return Prepared(launch=launch, mistakes=mistakes, problems=tuple(problems), interpreter=interpreter)


def _place_problems(on: str, schedule: Schedule) -> list[Problem]:
    try:
        target_of(on, schedule)
    except Refusal as refusal:
        return [Problem("place-refused", "error", str(refusal), refusal.remedy)]
    return []


def with_ports(recipe: Recipe, values: Mapping[str, Value], database: sqlite3.Connection) -> dict[str, Value]:
    """The values, with a free number for each port that was left empty."""
    taken = {port for job in open_jobs(database) for port in job.schedule.ports}
    found = dict(values)
    for name, parameter in recipe.parameters.items():
        if not is_port(recipe, name):
            continue
        if name not in found:
            first = parameter.default if isinstance(parameter.default, int) else 30000
            port = free_port(first, taken)
            if port is not None:
                found[name] = port
        taken.add(int(found.get(name, 0)))  # type: ignore[arg-type]
    return found


def _kept() -> dict[str, str]:
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


def _with_secrets(recipe: Recipe, wishes: Wishes, place: Place) -> Wishes:
    absent = set(missing_secrets(place.secrets_path, recipe.optional_secrets))
    there = tuple(name for name in recipe.optional_secrets if name not in absent and name not in wishes.secrets)
    return msgspec.structs.replace(wishes, secrets=(*wishes.secrets, *there))


def _interpreter(
    recipe: Recipe, chosen: str | None, place: Place, known: FoundInterpreter | None, *, thorough: bool
) -> FoundInterpreter | None:
    if recipe.interpreter is None:
        return None
    found = known or find_interpreter(recipe.interpreter, chosen, place.settings.interpreters)
    return check_import(found, recipe.interpreter) if thorough and not found.checked else found


def _interpreter_problems(found: FoundInterpreter | None, *, local: bool) -> list[Problem]:
    if found is None or found.problem is None:
        return []
    remedy = f"choose another: python=PATH, or [interpreters] {found.package} = ... in settings.toml"
    return [Problem("interpreter", "error" if local else "warning", found.problem, remedy)]
