"""Reads a recipe and refuses one with a mistake: file, line, reason."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from engine.jobs.recipes.amounts import bytes_of
from engine.jobs.recipes.positions import Key, line_of
from engine.jobs.recipes.records import Kind, Parameter, ParameterType, Recipe, RecipeMistake
from engine.jobs.recipes.templates import TemplateMistake, items_of, names_in, uses
from engine.jobs.recipes.values import ValueMistake, checked_default
from state.records.jobs import RestartPolicy

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PARAMETER = re.compile(r"[a-z_][a-z0-9_]{0,63}")
_MADE_BY_ALULA = ("source", "template")
OFFERED = frozenset({"python", "alula"})
"""Names that templates can use without a parameter of that name."""


class _Mistake(Exception):
    def __init__(self, path: Key, reason: str, near: str = "") -> None:
        super().__init__(reason)
        self.path = path
        self.near = near


def read_recipe(text: str, source: str) -> Recipe:
    """One recipe.

    Raises:
        RecipeMistake: It cannot be used.
    """
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        end = len(text.splitlines()) or 1
        raise RecipeMistake(source, int(line[1]) if line else end, f"is no TOML: {error}") from error
    try:
        recipe = _converted(raw, source)
        for check in (_check_names, _check_parameters, _check_template, _check_texts, _check_patterns, _check_amounts):
            check(recipe)
    except _Mistake as mistake:
        raise RecipeMistake(source, line_of(text, mistake.path, mistake.near), str(mistake)) from mistake
    return recipe


def _converted(raw: dict[str, Any], source: str) -> Recipe:
    for name in _MADE_BY_ALULA:
        if name in raw:
            raise _Mistake((name,), f"there is no key {name!r} in a recipe")
    for name, parameter in (raw.get("parameters") or {}).items():
        if not isinstance(parameter, dict):
            raise _Mistake(("parameters", name), f"parameter {name!r} has to be a table: {{ type = ... }}")
        _convert(parameter, Parameter, ("parameters", name))
    recipe: Recipe = _convert(raw, Recipe, ())
    try:
        template = items_of(recipe.argv)
    except TemplateMistake as mistake:
        raise _Mistake(("argv",), str(mistake), mistake.text) from mistake
    return msgspec.structs.replace(recipe, source=source, template=template)


def _convert(raw: Any, wanted: Any, path: Key) -> Any:
    try:
        return msgspec.convert(raw, wanted)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
        inner = re.findall(r"\.(\w+)|\[(\d+)\]", place)
        unknown = re.search(r"unknown field `(\w+)`", reason)
        names = tuple(int(number) if number else name for name, number in inner)
        whole = (*path, *names, *((unknown[1],) if unknown else ()))
        words = f"there is no key {unknown[1]!r} here" if unknown else reason + _instead(names)
        raise _Mistake(whole, f"{'.'.join(map(str, (*path, *names))) or 'recipe'}: {words}") from error


def _instead(names: Key) -> str:
    """What a choice may be, where it is none of them."""
    choices = {"type": ParameterType, "kind": Kind, "restart": RestartPolicy}.get(str(names[-1]) if names else "")
    return f": it is one of {', '.join(get_args(choices))}" if choices else ""


def _check_names(recipe: Recipe) -> None:
    if not NAME.fullmatch(recipe.name):
        raise _Mistake(("name",), f"{recipe.name!r} cannot be a name: small letters, digits, - . _")
    if recipe.extends is None and not recipe.argv:
        raise _Mistake(("name",), "there is no argv, nor another recipe that it extends")
    if recipe.extends is not None and (recipe.argv or recipe.parameters):
        raise _Mistake(("extends",), "a recipe that extends another gives `values` only")
    if recipe.values and recipe.extends is None:
        raise _Mistake(("values",), "`values` belong to a recipe that extends another")
    for name in recipe.parameters:
        if not _PARAMETER.fullmatch(name) or name in OFFERED:
            raise _Mistake(("parameters", name), f"{name!r} cannot be the name of a parameter")


def _check_parameters(recipe: Recipe) -> None:
    for name, parameter in recipe.parameters.items():
        path: Key = ("parameters", name)
        if parameter.type == "choice" and not parameter.choices:
            raise _Mistake(path, f"parameter {name!r} is a choice and has no choices")
        if parameter.pattern is not None:
            _compiled(parameter.pattern, (*path, "pattern"))
        try:
            checked_default(name, parameter)
        except ValueMistake as mistake:
            raise _Mistake((*path, "default"), f"the default of {name!r}: {mistake}") from mistake


def _check_template(recipe: Recipe) -> None:
    for name, text, optional in uses(recipe.template):
        parameter = recipe.parameters.get(name)
        if parameter is None:
            if name == "python" and recipe.interpreter is None:
                raise _Mistake(("argv",), "{python} is used, and there is no [interpreter]", text)
            if name not in OFFERED:
                raise _Mistake(("argv",), f"there is no parameter {name!r}", text)
        elif not optional and not (parameter.required or parameter.default is not None or parameter.type == "port"):
            reason = f"parameter {name!r} may have no value: put {text!r} into a group [ ... ], or make it required"
            raise _Mistake(("argv",), reason, text)


def _check_texts(recipe: Recipe) -> None:
    for path, text in _texts(recipe):
        try:
            names = names_in(text)
        except TemplateMistake as mistake:
            raise _Mistake(path, str(mistake)) from mistake
        if unknown := [name for name in names if name not in recipe.parameters and name not in OFFERED]:
            raise _Mistake(path, f"there is no parameter {unknown[0]!r}")
    gpus = recipe.resources.gpus
    for name in gpus if isinstance(gpus, tuple) else ():
        if name not in recipe.parameters or recipe.parameters[name].type != "int":
            raise _Mistake(("resources", "gpus"), f"{name!r} is no parameter of type int")
    if recipe.check is not None and recipe.check.what == "training" and recipe.check.file not in recipe.parameters:
        raise _Mistake(("check", "file"), f"{recipe.check.file!r} is no parameter")


def _texts(recipe: Recipe) -> Iterator[tuple[Key, str]]:
    for name, text in recipe.environment.items():
        yield ("environment", name), text
    if recipe.ready is not None and recipe.ready.url is not None:
        yield ("ready", "url"), recipe.ready.url
    if recipe.working_dir is not None:
        yield ("working_dir",), recipe.working_dir


def _check_patterns(recipe: Recipe) -> None:
    if recipe.ready is not None and recipe.ready.log is not None:
        _compiled(recipe.ready.log, ("ready", "log"))
    for pattern in recipe.retry.log:
        _compiled(pattern, ("retry", "log"))
    for pattern in recipe.progress:
        _compiled(pattern, ("progress",), "done", "total")
    for place, metric in enumerate(recipe.metrics):
        _compiled(metric.pattern, ("metrics", place, "pattern"), "value")


def _compiled(pattern: str, path: Key, *groups: str) -> None:
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise _Mistake(path, f"{pattern!r} is no regular expression: {error}") from error
    for group in groups:
        if group not in found.groupindex:
            raise _Mistake(path, f"{pattern!r} has no group (?P<{group}>...)")


def _check_amounts(recipe: Recipe) -> None:
    for name in ("memory", "disk"):
        text = getattr(recipe.resources, name)
        try:
            bytes_of(text or "0")
        except ValueError as error:
            raise _Mistake(("resources", name), str(error)) from error
