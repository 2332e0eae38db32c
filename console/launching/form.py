"""Fields of the launch form, and what was typed into them."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from engine.jobs.recipes.amounts import gpus_of, seconds_of
from engine.jobs.recipes.command import Wishes
from engine.jobs.recipes.records import Recipe, Value
from engine.jobs.recipes.values import ValueMistake, parse_value, shown
from state.records.jobs import Job

PYTHON, OVERRIDE = "python", "override"
QUEUE_FIELDS = (
    "name", "gpus", "priority", "after", "after_ok", "time_limit", "retries", "secrets", "on", OVERRIDE,
)  # fmt: skip
_QUEUE_HELP = {
    "name": "What to call the job. Empty: the recipe's name.",
    "gpus": "How many, or which ones: 0,1 (one by index: 3,). Empty: as the recipe says.",
    "priority": "Higher ones start first. Empty: 0.",
    "after": "Numbers of jobs that must have ended.",
    "after_ok": "Numbers of jobs that must have ended well.",
    "time_limit": "12h, 90min, 30s. Empty: none.",
    "retries": "How often it is tried again. Empty: as the recipe says.",
    "secrets": "Names kept by: alula jobs secret set NAME",
    "on": "local, slurm, ray://HOST:PORT. Empty: local.",
    OVERRIDE: "Rules of errors that you take upon you.",
}


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the form."""

    key: str
    """Unique in the form."""
    label: str
    kind: Literal["text", "choice", "bool"] = "text"
    choices: tuple[str, ...] = ()
    text: str = ""
    """What it starts with."""
    hint: str = ""
    """Type and default, drawn while it is empty."""
    help: str = ""
    required: bool = False
    is_path: bool = False
    section: Literal["recipe", "queue"] = "recipe"


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    """What the texts of a form say."""

    given: dict[str, Value | None] = {}
    wishes: Wishes = Wishes()
    python: str | None = None
    overridden: frozenset[str] = frozenset()
    mistakes: dict[str, str] = {}
    """Field to what is wrong with its text."""


def fields_of(recipe: Recipe, job: Job | None = None) -> list[FormField]:
    """The form of a recipe; with a job, filled as that one was."""
    found = [_parameter_field(recipe, name, job) for name in recipe.parameters]
    # Ports are given anew: the old one may be in use.
    if recipe.interpreter is not None:
        start = str(job.parameters.get(PYTHON, "")) if job else ""
        text = f"Python or virtual environment with {recipe.interpreter.imports}. Empty: found."
        found.append(FormField(key=PYTHON, label=PYTHON, text=start, help=text, is_path=True, hint="path"))
    return [*found, *(_queue_field(name, job) for name in QUEUE_FIELDS)]


def read_form(recipe: Recipe, texts: Mapping[str, str]) -> Typed:
    """What was typed, with every mistake by its field."""
    given: dict[str, Value | None] = {}
    mistakes: dict[str, str] = {}
    for name, parameter in recipe.parameters.items():
        try:
            given[name] = parse_value(name, parameter, texts.get(name, ""))
        except ValueMistake as mistake:
            mistakes[name] = str(mistake)
    queue = {name: texts.get(_queue_key(name), "").strip() for name in QUEUE_FIELDS}
    return Typed(
        given=given,
        wishes=_wishes(queue, mistakes),
        python=texts.get(PYTHON, "").strip() or None,
        overridden=frozenset(_words(queue[OVERRIDE])),
        mistakes=mistakes,
    )


def _parameter_field(recipe: Recipe, name: str, job: Job | None) -> FormField:
    parameter = recipe.parameters[name]
    default = parameter.default if parameter.type != "port" else None
    text = shown(default)
    if job is not None and parameter.type != "port":
        value = job.parameters.get(name)
        text = shown(tuple(value) if isinstance(value, list) else value)
    if parameter.type == "port":
        hint = f"free, from {parameter.default}"
    else:
        hint = "required" if parameter.required else parameter.type
    kind: Literal["text", "choice", "bool"] = "text"
    if parameter.type in ("choice", "bool"):
        kind = "choice" if parameter.type == "choice" else "bool"
    return FormField(
        key=name, label=name, kind=kind, choices=parameter.choices, text=text, hint=hint, help=parameter.help,
        required=parameter.required, is_path=parameter.type in ("path", "list"),
    )  # fmt: skip


def _queue_field(name: str, job: Job | None) -> FormField:
    text = ""
    if job is not None:
        schedule = job.schedule
        chosen = ",".join(map(str, schedule.gpu_choice)) + ("," if len(schedule.gpu_choice) == 1 else "")
        text = {
            "name": job.name if job.name != job.recipe else "",
            "gpus": chosen,
            "priority": str(schedule.priority) if schedule.priority else "",
            "secrets": " ".join(schedule.secrets),
            "time_limit": f"{schedule.time_limit_s:g}s" if schedule.time_limit_s else "",
        }.get(name, "")
    return FormField(key=_queue_key(name), label=name.replace("_", " "), text=text, help=_QUEUE_HELP[name],
                     section="queue")  # fmt: skip


def _queue_key(name: str) -> str:
    """Apart from parameters, which may have the same names."""
    return f"queue-{name}"


def _wishes(queue: Mapping[str, str], mistakes: dict[str, str]) -> Wishes:
    def number(name: str) -> int | None:
        text = queue[name]
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            mistakes[_queue_key(name)] = f"{text!r} is not a whole number"
            return None

    def numbers(name: str) -> tuple[int, ...]:
        words = _words(queue[name])
        if not all(word.isdecimal() for word in words):
            mistakes[_queue_key(name)] = f"{queue[name]!r} are no numbers of jobs"
            return ()
        return tuple(map(int, words))

    limit_s: float | None = None
    count: int | None = None
    choice: tuple[int, ...] = ()
    try:
        limit_s = seconds_of(queue["time_limit"]) if queue["time_limit"] else None
    except ValueError as error:
        mistakes[_queue_key("time_limit")] = str(error)
    try:
        count, choice = gpus_of(queue["gpus"])
    except ValueError as error:
        mistakes[_queue_key("gpus")] = str(error)
    return Wishes(
        name=queue["name"], priority=number("priority") or 0, after=numbers("after"), after_ok=numbers("after_ok"),
        gpus=count, gpu_choice=choice, time_limit_s=limit_s, retries=number("retries"),
        secrets=tuple(_words(queue["secrets"])), on=queue["on"] or "local",
    )  # fmt: skip


def _words(text: str) -> Sequence[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]
