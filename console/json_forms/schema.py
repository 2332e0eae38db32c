"""JSON schemas of what commands print (JSON Schema 2020-12), made from the types in `table`."""

from pathlib import Path
from typing import Any

import msgspec

from console.json_forms.table import FORMS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLACE = "#/$defs/{name}"


def schema_of(command: str) -> dict[str, Any]:
    """The schema of a command's output; where it has several forms, each says in a comment what asks for it.

    Raises:
        KeyError: There is no such command, or it has no `--json`.
    """
    forms = FORMS[command]
    schemas, parts = msgspec.json.schema_components(forms.values(), schema_hook=_of_paths, ref_template=_PLACE)
    several = [{"$comment": when or "usually", **one} for when, one in zip(forms, schemas, strict=True)]
    whole = schemas[0] if len(forms) == 1 else {"anyOf": several}
    definitions = {name: _without_defaults(part) for name, part in parts.items()}
    return {"$schema": DIALECT, "title": f"alula {command} --json", **whole, **_named(definitions)}


def form_words(form: Any) -> str:
    """A form in words: `Job`, `list of Job`."""
    if origin := getattr(form, "__origin__", None):
        (*_, inner) = form.__args__
        return f"list of {form_words(inner)}" if origin is list else "object"
    return {str: "text", dict: "object"}.get(form) or str(form.__name__)


def _named(definitions: dict[str, Any]) -> dict[str, Any]:
    return {"$defs": definitions} if definitions else {}


def _of_paths(kind: type) -> dict[str, Any]:
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError(kind)


def _without_defaults(part: dict[str, Any]) -> dict[str, Any]:
    """Defaults are of use to those who write a record; these schemas are for readers."""
    fields = {
        name: {key: value for key, value in kind.items() if key != "default"}
        for name, kind in part.get("properties", {}).items()
    }
    return part | {"properties": fields} if fields else part
