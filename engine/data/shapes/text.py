"""Text out of a record's columns: one column, several joined, a template; examples and lists written out."""

import re
from typing import Any

import msgspec

from engine.data.records import Row, Unusable
from engine.data.sources.decoding import kind_of

LARGEST_CELL = 4_000_000
"""Characters of a prompt; a larger one fits into no target's context."""
_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)\}")


def text_of(row: Row, spec: str) -> str:
    """The text that `spec` names: `column`, `one+two`, `a.b` of nested records, or a template with `{column}`.

    Raises:
        Unusable: A column is null, or holds what is no text.
    """
    if _FIELD.search(spec):
        return _FIELD.sub(lambda found: written(cell(row, found[1]), found[1]), spec)
    names = [name for name in spec.split("+") if name]
    if len(names) == 1:
        return required(row, names[0])
    first = required(row, names[0])
    rest = [_titled(name, cell(row, name)) for name in names[1:]]
    return "\n\n".join(part for part in (first, *rest) if part)


def columns_of(spec: str) -> list[str]:
    """The columns that a specification names."""
    found = _FIELD.findall(spec)
    return list(found) if found else [name for name in spec.split("+") if name]


def cell(row: Row, name: str) -> Any:
    """The value of a column, or of a field inside of one: `a.b`. `None` where there is none."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def required(row: Row, name: str) -> str:
    """A column that must hold text.

    Raises:
        Unusable: It is null or missing, or holds no text.
    """
    value = cell(row, name)
    if value is None:
        raise Unusable("null_prompt", f"{name} is null")
    if isinstance(value, list | dict):
        return written(value, name)
    if not isinstance(value, str):
        raise Unusable("not_text", f"{name} is {kind_of(value)}, not text")
    return value


def written(value: Any, name: str) -> str:
    """A value as a person would write it under its name: a list as items, pairs of input and output as examples."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n\n".join(filter(None, (written(one, name) for one in value)))
    if isinstance(value, dict):
        if set(value) >= {"input", "output"}:
            return f"Input:\n{written(value['input'], name)}\nOutput:\n{written(value['output'], name)}"
        return "\n".join(f"{key}: {written(one, key)}" for key, one in value.items() if one is not None)
    return msgspec.json.encode(value).decode()


def _titled(name: str, value: Any) -> str:
    text = written(value, name).strip()
    title = name.rpartition(".")[2].replace("_", " ").capitalize()
    return f"{title}:\n{text}" if text and title.lower() not in ("description", "text", "input") else text
