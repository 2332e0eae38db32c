"""From a recipe and its values to what is launched: command, environment, schedule. The host is not asked here."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine.jobs.recipes.amounts import bytes_of
from engine.jobs.recipes.records import Readiness, Recipe, Value
from engine.jobs.recipes.templates import fill, fill_text
from state.outside_text import plain_line
from state.records.jobs import Job, Schedule
from state.secret_words import HIDDEN, shown_environment


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator says besides the recipe's parameters."""

    name: str = ""
    priority: int = 0
    after: tuple[int, ...] = ()
    after_ok: tuple[int, ...] = ()
    gpus: int | None = None
    gpu_choice: tuple[int, ...] = ()
    time_limit_s: float | None = None
    retries: int | None = None
    restart: str | None = None
    secrets: tuple[str, ...] = ()
    on: str = "local"
    """The backend: `local`, `slurm`, `ray://HOST:PORT`."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the engine is asked for."""

    argv: tuple[str, ...]
    name: str
    kind: str
    working_dir: str
    environment: dict[str, str] = {}
    grace_s: float = 10.0
    recipe: str | None = None
    parameters: dict[str, Value] = {}
    schedule: Schedule = Schedule()


def build(recipe: Recipe, values: Mapping[str, Value], wishes: Wishes, *, python: str, working_dir: str) -> Launch:
    """The launch. `values` hold every port already."""
    offered: dict[str, Value] = {**values, "python": python, "alula": own_command()}
    environment = {name: fill_text(text, offered) for name, text in recipe.environment.items()}
    place = fill_text(recipe.working_dir, offered) if recipe.working_dir else None
    return Launch(
        argv=tuple(fill(recipe.template, offered)),
        name=wishes.name or recipe.name,
        kind=recipe.kind,
        working_dir=place or working_dir,
        environment={name: text for name, text in environment.items() if text is not None},
        grace_s=recipe.grace_s,
        recipe=recipe.name,
        parameters={**values, **({"python": python} if recipe.interpreter else {})},
        schedule=schedule_of(recipe, values, wishes),
    )


def own_command() -> tuple[str, ...]:
    """What `{alula...}` stands for: Alula as it is installed here."""
    script = Path(sys.executable).with_name("alula")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "console")


def schedule_of(recipe: Recipe, values: Mapping[str, Value], wishes: Wishes) -> Schedule:
    """When and where it may run: the operator's wishes before the recipe's."""
    ready = recipe.ready
    return Schedule(
        priority=wishes.priority,
        after=wishes.after,
        after_ok=wishes.after_ok,
        gpus=0 if wishes.gpu_choice else gpus_wanted(recipe, values) if wishes.gpus is None else wishes.gpus,
        gpu_choice=wishes.gpu_choice,
        memory_bytes=bytes_of(recipe.resources.memory or "0"),
        ports=tuple(int(value) for name, value in values.items() if is_port(recipe, name) and isinstance(value, int)),
        time_limit_s=wishes.time_limit_s,
        retries=recipe.retry.times if wishes.retries is None else wishes.retries,
        retry_wait_s=recipe.retry.wait_s,
        retry_exit_codes=recipe.retry.exit_codes,
        retry_log=recipe.retry.log,
        restart=wishes.restart or recipe.restart,  # type: ignore[arg-type]
        ready_url=fill_text(ready.url, values) if ready and ready.url else None,
        ready_log=ready.log if ready else None,
        ready_within_s=ready.within_s if ready else Readiness().within_s,
        secrets=(*recipe.secrets, *(name for name in wishes.secrets if name not in recipe.secrets)),
    )


def gpus_wanted(recipe: Recipe, values: Mapping[str, Value]) -> int:
    """How many GPUs the recipe asks for with these values."""
    wanted = recipe.resources.gpus
    if isinstance(wanted, int):
        return wanted
    return math.prod(int(value) for name in wanted if isinstance(value := values.get(name, 1), int))


def is_port(recipe: Recipe, name: str) -> bool:
    """Whether a parameter is a port that the job listens on."""
    return name in recipe.parameters and recipe.parameters[name].type == "port"


def environment_lines(job: Job) -> list[str]:
    """Variables of a job for a screen: values of telling names hidden, secrets by name only."""
    shown = {**shown_environment(job.environment), **dict.fromkeys(job.schedule.secrets, HIDDEN)}
    return [f"{plain_line(name)}={plain_line(value, 200)}" for name, value in sorted(shown.items())]
