"""Writes docs/recipes.md from the recipes and records: `python -m engine.jobs.recipes.document > docs/recipes.md`."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import engine.jobs.recipes.records as records
from engine.jobs.recipes.catalogue import built_in
from engine.jobs.recipes.document_text import EXAMPLE, FOOT, HEAD, MISTAKES
from engine.jobs.recipes.reading import read_recipe
from engine.jobs.recipes.records import Recipe, RecipeMistake
from state.markdown import table_cell

TABLES = {
    "Recipe": "The file itself", "Parameter": "`[parameters]`", "Interpreter": "`[interpreter]`",
    "Resources": "`[resources]`", "Readiness": "`[ready]`", "Metric": "`[[metrics]]`", "Retry": "`[retry]`",
    "ConfigCheck": "`[check]`", "Flag": "A condition within `argv`",
}  # fmt: skip
"""Records to their headings, in the order of the page."""
MADE_BY_ALULA = ("source", "template")


def document() -> str:
    """The whole page."""
    parts = (HEAD.replace("{example}", EXAMPLE), *_built_in(), *_keys(), *_mistakes(), FOOT)
    return "\n".join(parts)


def _built_in() -> Iterator[str]:
    yield "## Built in\n"
    yield "| recipe | kind | for | what it does | needs |\n|---|---|---|---|---|"
    for one in built_in().values():
        required = [f"`{name}`" for name, parameter in one.parameters.items() if parameter.required]
        yield f"| `{one.name}` | {one.kind} | {one.release or 'any'} | {table_cell(one.help)} | {', '.join(required)} |"
    yield ""


def _keys() -> Iterator[str]:
    yield "## Every key\n"
    known = {node.name: node for node in _classes()}
    for name, heading in TABLES.items():
        yield f"### {heading}\n{ast.get_docstring(known[name])}\n"
        yield "| key | type | default | meaning |\n|---|---|---|---|"
        yield from (row for row in _rows(known[name]))
        yield ""


def _classes() -> Iterator[ast.ClassDef]:
    text = Path(records.__file__).read_text(encoding="utf-8")
    yield from (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))


def _rows(record: ast.ClassDef) -> Iterator[str]:
    for node, after in zip(record.body, record.body[1:], strict=False):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        if node.target.id in MADE_BY_ALULA:
            continue
        given = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        meaning = str(after.value.value) if given else ""  # type: ignore[attr-defined]
        name = "is" if node.target.id == "matches" else node.target.id
        yield f"| `{name}` | {_type(ast.unparse(node.annotation))} | {_default(node.value)} | {table_cell(meaning)} |"


def _type(text: str) -> str:
    words = {"ParameterType": _choices(records.ParameterType), "Kind": _choices(records.Kind), "Any": "template",
             "RestartPolicy": "text"}  # fmt: skip
    text = text.removesuffix(" | None")
    if text.startswith("Literal["):
        return " or ".join(f"`{one}`" for one in ast.literal_eval(f"({text[8:-1]},)"))
    if text in words:
        return words[text]
    plain = {
        "str": "text", "int": "whole number", "float": "number", "bool": "true or false", "tuple[str, ...]": "texts",
        "tuple[int, ...]": "whole numbers", "tuple[Any, ...]": "template", "tuple[Metric, ...]": "tables",
        "int | tuple[str, ...]": "whole number or names", "dict[str, str]": "table of texts",
    }  # fmt: skip
    return plain.get(text, "table" if text[0].isupper() or text.startswith("dict") else "as its type")


def _choices(literal: object) -> str:
    return ", ".join(f"`{one}`" for one in literal.__args__)  # type: ignore[attr-defined]


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "**required**"
    if isinstance(value, ast.Constant) and value.value not in (None, "", 0, False):
        return f"`{value.value!s}`"
    return {"False": "false", "0": "0"}.get(ast.unparse(value), "")


def _mistakes() -> Iterator[str]:
    yield "## How a mistake is refused\n"
    yield "| in the example above | said |\n|---|---|"
    for words, old, new in MISTAKES:
        yield f"| {words} | `{table_cell(_refusal(EXAMPLE.replace(old, new)))}` |"
    yield ""


def _refusal(text: str) -> str:
    try:
        read: Recipe = read_recipe(text, "my-train.toml")
    except RecipeMistake as mistake:
        return str(mistake)
    raise AssertionError(f"{read.name} is not refused")


if __name__ == "__main__":
    sys.stdout.write(document())
