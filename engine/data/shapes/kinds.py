"""The shapes that are known: for each, what in one record gives it away, and which columns hold the prompt."""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.data.records import Mapping, Row, ShapeName
from engine.data.shapes import columns
from engine.data.shapes.conversation import is_message, is_transcript, uses_tools

Fit = Callable[[Row], Mapping | None]

COMMENT_TEMPLATE = "Write the function that this comment describes:\n\n{comment}"


def native(row: Row) -> Mapping | None:
    """Records in the target's own tokens."""
    return Mapping(id=_first(row, columns.ID)) if {"input_ids", "loss_mask"} <= row.keys() else None


def preference(row: Row) -> Mapping | None:
    """A prompt with a chosen and a rejected answer."""
    if not {"chosen", "rejected"} <= row.keys():
        return None
    if _is_conversation(row["chosen"]) or is_transcript(row["chosen"]):
        return _mapped(row, messages="chosen")
    return _with_prompt(row, _first_text(row, columns.PROMPT))


def trajectory(row: Row) -> Mapping | None:
    """A conversation in which tools are called."""
    name = _conversation(row)
    found = _listed(row.get(name)) if name else []
    return _mapped(row, messages=name) if any(uses_tools(one) for one in found) else None


def openai_messages(row: Row) -> Mapping | None:
    """A list of role and content."""
    name = _conversation(row)
    return _mapped(row, messages=name) if name and "role" in _listed(row[name])[0] else None


def sharegpt(row: Row) -> Mapping | None:
    """A list of from and value, or a transcript."""
    name = _conversation(row) or next((one for one in columns.TEXT if is_transcript(row.get(one))), None)
    return _mapped(row, messages=name) if name else None


def turns(row: Row) -> Mapping | None:
    """A list of the user's turns."""
    for name in columns.TURNS:
        value = row.get(name)
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return _mapped(row, messages=name)
    return None


def issue(row: Row) -> Mapping | None:
    """An issue of a repository and the patch that mends it."""
    if isinstance(row.get("problem_statement"), str) and row.keys() & {"patch", "test_patch"}:
        return _with_prompt(row, "problem_statement")
    return None


def code_problem(row: Row) -> Mapping | None:
    """A problem told in parts: description, input and output format, examples."""
    first = _first_present(row, columns.PROBLEM)
    if first is None or not row.keys() & set(columns.PROBLEM_PARTS):
        return None
    title = "title" if "title" in row and first != "title" else None
    told = [name for name in columns.PROBLEM_TOLD if name in row]
    return _with_prompt(row, "+".join([first, *([title] if title else []), *told]))


def with_tests(row: Row) -> Mapping | None:
    """An instruction with tests that its answer must pass."""
    return _with_prompt(row, _first_text(row, columns.PROMPT)) if row.keys() & set(columns.TESTS) else None


def alpaca(row: Row) -> Mapping | None:
    """instruction, input, output."""
    name = _first_text(row, columns.INSTRUCTION)
    if name is None or not row.keys() & {"output", "response", "input"}:
        return None
    return _with_prompt(row, f"{name}+input" if "input" in row else name)


def prompt_response(row: Row) -> Mapping | None:
    """One column asks, another answers."""
    if isinstance(row.get("comment"), str) and "code" in row:
        return _with_prompt(row, COMMENT_TEMPLATE)
    name = _first_text(row, columns.PROMPT)
    return _with_prompt(row, name) if name and row.keys() & (set(columns.RESPONSE) - {name}) else None


def prompt_only(row: Row) -> Mapping | None:
    """One column asks."""
    return _with_prompt(row, _first_text(row, columns.PROMPT))


def plain_text(row: Row) -> Mapping | None:
    """A text without an instruction."""
    return _with_prompt(row, _first_text(row, columns.TEXT))


SHAPES: tuple[tuple[ShapeName, Fit], ...] = (
    ("native", native),
    ("preference pairs", preference),
    ("tool-call trajectory", trajectory),
    ("OpenAI messages", openai_messages),
    ("ShareGPT", sharegpt),
    ("turns", turns),
    ("issue and patch", issue),
    ("code problem", code_problem),
    ("instruction with tests", with_tests),
    ("Alpaca", alpaca),
    ("prompt and response", prompt_response),
    ("prompt", prompt_only),
    ("plain text", plain_text),
)
"""In the order in which they are tried: the more telling first."""


def _conversation(row: Row) -> str | None:
    names = (*columns.CONVERSATION, *(name for name in row if name not in columns.CONVERSATION))
    return next((name for name in names if _is_conversation(row.get(name))), None)


def _is_conversation(value: Any) -> bool:
    listed = _listed(value)
    return bool(listed) and is_message(listed[0])


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) and value.startswith("[{"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _with_prompt(row: Row, spec: str | None) -> Mapping | None:
    return _mapped(row, prompt=spec) if spec else None


def _mapped(row: Row, *, messages: str | None = None, prompt: str | None = None) -> Mapping:
    system = "system" if isinstance(row.get("system"), str) else None
    return Mapping(
        messages=messages,
        prompt=prompt,
        system=system,
        id=_first(row, columns.ID),
        language=_first_text(row, columns.LANGUAGE),
        licence=_first(row, columns.LICENCE),
    )


def _first(row: Row, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in row), None)


def _first_present(row: Row, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in row and (row[name] is None or isinstance(row[name], str))), None)


def _first_text(row: Row, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(row.get(name), str)), None)
