"""Argument templates: looked through once when a recipe is read, filled when a job is launched. No shell comes in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from engine.jobs.recipes.records import Flag, Item, Value

_PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)(\.\.\.)?\}|[{}]")
Filling = Mapping[str, Value]


class TemplateMistake(Exception):
    """A template that cannot be used, and the text of it that is wrong."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason)
        self.text = text


def items_of(raw: Any) -> tuple[Item, ...]:
    """The items of an array as TOML gives it.

    Raises:
        TemplateMistake: Something in it is no text, array or condition.
    """
    return tuple(_item(one) for one in raw)


def names_in(text: str) -> list[str]:
    """Names that a text has places for.

    Raises:
        TemplateMistake: A brace stands alone, or a list does not stand alone.
    """
    found = []
    for match in _PLACE.finditer(text):
        if match[0] in ("{", "}"):
            raise TemplateMistake(f"a {match[0]} stands alone in {text!r}: write it twice to have one", text)
        if match[2] and match[0] != text:
            raise TemplateMistake(f"{match[0]} has to be the whole word, not a part of {text!r}", text)
        if match[1]:
            found.append(match[1])
    return found


def uses(items: Sequence[Item], *, optional: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Each name in a template, the text it stands in, and whether it may have no value there."""
    for item in items:
        if isinstance(item, str):
            for name in names_in(item):
                yield name, item, optional or item.endswith("...}")
        elif isinstance(item, Flag):
            yield item.when, item.when, True
            yield from uses((*item.argv, *item.otherwise), optional=optional)
        else:
            yield from uses(item, optional=True)


def fill(items: Sequence[Item], values: Filling) -> list[str]:
    """The argument list. Every name outside a group has a value."""
    words: list[str] = []
    for item in items:
        if isinstance(item, str):
            words += _words(item, values)
        elif isinstance(item, Flag):
            words += fill(item.argv if _holds(item, values) else item.otherwise, values)
        elif all(_has_value(name, values) for name in _own_names(item)):
            words += fill(item, values)
    return words


def fill_text(text: str, values: Filling) -> str | None:
    """One text; `None` where a name has no value."""
    if not all(_has_value(name, values) for name in names_in(text)):
        return None
    return _PLACE.sub(lambda match: written(values[match[1]]) if match[1] else match[0][0], text)


def written(value: Value) -> str:
    """A value as a word of a command."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(value)
    return str(value)


def _item(raw: Any) -> Item:
    if isinstance(raw, str):
        names_in(raw)
        return raw
    if isinstance(raw, list | tuple):
        return items_of(raw)
    if not isinstance(raw, dict):
        raise TemplateMistake(f"{raw!r} is no text: write it in quotes", str(raw))
    try:
        flag = msgspec.convert({**raw, "is": _as_texts(raw.get("is", ()))}, Flag)
    except msgspec.ValidationError as error:
        raise TemplateMistake(f"a condition is wrong: {error}", str(raw.get("when", "when"))) from error
    return msgspec.structs.replace(flag, argv=items_of(flag.argv), otherwise=items_of(flag.otherwise))


def _as_texts(raw: Any) -> Any:
    return (raw,) if isinstance(raw, str) else raw


def _own_names(group: Sequence[Item]) -> Iterator[str]:
    """Names of a group itself, not of groups inside it."""
    for item in group:
        if isinstance(item, str):
            yield from names_in(item)


def _has_value(name: str, values: Filling) -> bool:
    value = values.get(name)
    return value is not None and value not in ("", ())


def _holds(flag: Flag, values: Filling) -> bool:
    value = values.get(flag.when)
    if flag.matches:
        return value is not None and written(value) in flag.matches
    return bool(value)


def _words(text: str, values: Filling) -> list[str]:
    if text.endswith("...}"):
        value = values.get(names_in(text)[0], ())
        return list(value) if isinstance(value, tuple) else [written(value)]
    filled = fill_text(text, values)
    return [] if filled is None else [filled]
