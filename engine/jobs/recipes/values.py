"""Values of parameters: from what somebody typed to what the template takes."""

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.jobs.recipes.records import Parameter, Recipe, Value

_BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
LONGEST = 100_000


class ValueMistake(Exception):
    """A value that does not fit."""


def parse_value(name: str, parameter: Parameter, text: str) -> Value | None:
    """What was typed into a field; `None` where nothing was.

    Raises:
        ValueMistake: It does not fit the parameter.
    """
    if "\0" in text or len(text) > LONGEST:
        raise ValueMistake("holds a zero byte, or is too long")
    if parameter.type == "list":
        return _items(text)
    text = text.strip() if parameter.type != "string" else text
    if not text:
        return None
    if parameter.type == "bool":
        if text.lower() not in _BOOLS:
            raise ValueMistake(f"{text!r} is neither true nor false")
        return _BOOLS[text.lower()]
    if parameter.type in ("int", "port"):
        return _number(text, int, "a whole number")
    if parameter.type == "float":
        return _number(text, float, "a number")
    return text


def checked(name: str, parameter: Parameter, value: Value) -> Value:
    """A value of the right type that is also within what the parameter allows.

    Raises:
        ValueMistake: It is not.
    """
    value = _typed(parameter, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = (1, 65535) if parameter.type == "port" else (parameter.minimum, parameter.maximum)
        if value != value or (low is not None and value < low) or (high is not None and value > high):
            raise ValueMistake(f"{value} is not {_range(low, high)}")
    for text in (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ():
        if parameter.choices and text not in parameter.choices:
            raise ValueMistake(f"{text!r} is none of {', '.join(parameter.choices)}")
        if parameter.pattern and not re.fullmatch(parameter.pattern, text):
            raise ValueMistake(f"{text!r} does not match {parameter.pattern}")
    return value


def checked_default(name: str, parameter: Parameter) -> Value | None:
    """The default.

    Raises:
        ValueMistake: It does not fit its own parameter.
    """
    return None if parameter.default is None else checked(name, parameter, parameter.default)


def defaults(recipe: Recipe) -> dict[str, Value]:
    """What the form starts with. A port's default is only where the search for a free one begins."""
    return {
        name: checked(name, parameter, parameter.default)
        for name, parameter in recipe.parameters.items()
        if parameter.default is not None and parameter.type != "port"
    }


def resolve(recipe: Recipe, given: Mapping[str, Value | None]) -> tuple[dict[str, Value], dict[str, str]]:
    """Values and mistakes by parameter. `None` in `given` takes a default away; a value that is wrong has a mistake."""
    values, mistakes = defaults(recipe), {}
    for name, value in given.items():
        parameter = recipe.parameters.get(name)
        if parameter is None:
            mistakes[name] = f"{recipe.name} has no parameter {name!r}"
        elif value is None:
            values.pop(name, None)
        else:
            try:
                values[name] = _path(parameter, checked(name, parameter, value))
            except ValueMistake as mistake:
                mistakes[name] = str(mistake)
    for name, parameter in recipe.parameters.items():
        if parameter.required and name not in mistakes and values.get(name) in (None, "", ()):
            mistakes[name] = "is required"
    return values, mistakes


def parse_words(recipe: Recipe, words: Sequence[str]) -> tuple[dict[str, Value | None], dict[str, str]]:
    """Values and mistakes of `key=value` words; a list may be given several times."""
    found: dict[str, Value | None] = {}
    mistakes: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.replace("-", "_")
        parameter = recipe.parameters.get(name)
        if not equals or parameter is None:
            mistakes[name] = _no_parameter(name, recipe) if equals else "is not NAME=VALUE"
            continue
        try:
            value = parse_value(name, parameter, text)
        except ValueMistake as mistake:
            mistakes[name] = str(mistake)
            continue
        known = found.get(name)
        found[name] = (*known, *value) if isinstance(known, tuple) and isinstance(value, tuple) else value
    return found, mistakes


def missing_path(parameter: Parameter, value: Value, working_dir: str) -> str | None:
    """What is wrong with a path that has to exist."""
    if parameter.exists is None or not isinstance(value, str):
        return None
    path = Path(working_dir) / value
    present = {"file": path.is_file, "folder": path.is_dir, "any": path.exists}[parameter.exists]()
    kind = {"file": "file", "folder": "folder", "any": "file or folder"}[parameter.exists]
    return None if present else f"there is no {kind} {path}"


def shown(value: Value | None) -> str:
    """A value as it can be typed again."""
    if isinstance(value, tuple):
        return shlex.join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _no_parameter(name: str, recipe: Recipe) -> str:
    near = difflib.get_close_matches(name, recipe.parameters, n=1)
    return "is no parameter of this recipe" + (f": is {near[0]} meant?" if near else "")


def _items(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueMistake(f"cannot be cut into words: {str(error).lower()}") from error


def _number(text: str, kind: type[int] | type[float], words: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise ValueMistake(f"{text!r} is not {words}") from None


def _typed(parameter: Parameter, value: Value | list[str]) -> Value:
    wanted: dict[str, tuple[type, ...]] = {
        "int": (int,), "port": (int,), "float": (int, float), "bool": (bool,), "list": (tuple, list),
    }  # fmt: skip
    if isinstance(value, bool) != (parameter.type == "bool") or not isinstance(
        value, wanted.get(parameter.type, (str,))
    ):
        raise ValueMistake(f"{value!r} is no {parameter.type}")
    if isinstance(value, list | tuple):
        if not all(isinstance(one, str) for one in value):
            raise ValueMistake("is no list of texts")
        return tuple(value)
    return value


def _path(parameter: Parameter, value: Value) -> Value:
    if parameter.type == "path" and isinstance(value, str) and value.startswith("~"):
        return str(Path(value).expanduser())
    return value


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return f"{low:g} or more" if low is not None else f"{high:g} or less"
