"""From a record and a mapping to the prompt in it."""

from typing import Any

from engine.data.records import Mapping, Message, Native, Prompt, Row, Unusable
from engine.data.shapes.conversation import messages_of
from engine.data.shapes.text import LARGEST_CELL, cell, text_of


def to_prompt(row: Row, mapping: Mapping) -> Prompt:
    """The messages up to the turn that the target must answer.

    Raises:
        Unusable: The record holds none that can be asked.
    """
    messages = _messages(row, mapping)
    if mapping.system and not any(one.role == "system" for one in messages):
        text = cell(row, mapping.system)
        if isinstance(text, str) and text.strip():
            messages = (Message("system", text), *messages)
    for one in messages:
        _check(one)
    return Prompt(
        messages=messages,
        id=_short(row, mapping.id),
        language=_short(row, mapping.language),
        licence=_short(row, mapping.licence),
    )


def to_native(row: Row, mapping: Mapping) -> Native:
    """A record in the target's own tokens.

    Raises:
        Unusable: `input_ids` and `loss_mask` are not lists of whole numbers of one length, or nothing is to be learnt.
    """
    ids, mask = row.get("input_ids"), row.get("loss_mask")
    if not _whole_numbers(ids) or not _whole_numbers(mask):
        raise Unusable("bad_native", "input_ids and loss_mask must be lists of whole numbers")
    assert isinstance(ids, list) and isinstance(mask, list)
    if len(ids) != len(mask):
        raise Unusable("bad_native", f"{len(ids)} input_ids and {len(mask)} loss_mask")
    if not set(mask) <= {0, 1} or 1 not in mask:
        raise Unusable("bad_native", "loss_mask must hold 0 and 1, and at least one 1")
    return Native(ids, mask, _short(row, mapping.id))


def _messages(row: Row, mapping: Mapping) -> tuple[Message, ...]:
    if mapping.messages:
        return messages_of(cell(row, mapping.messages), mapping.messages)
    if mapping.prompt:
        return (Message("user", text_of(row, mapping.prompt)),)
    raise Unusable("unknown_shape", f"no column is known to hold the prompt (there is {', '.join(sorted(row)[:6])})")


def _check(message: Message) -> None:
    if message.role != "assistant" and not message.content.strip():
        raise Unusable("empty_prompt", f"a {message.role} turn is empty")
    if len(message.content) > LARGEST_CELL:
        raise Unusable("huge_row", f"a turn has {len(message.content):,} characters")
    try:
        message.content.encode()
    except UnicodeEncodeError as error:
        raise Unusable("bad_encoding", f"a turn holds a lone surrogate at character {error.start}") from None


def _short(row: Row, name: str | None) -> str | None:
    if name is None:
        return None
    value: Any = cell(row, name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip()[:300] or None


def _whole_numbers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) is int for one in value)


def preview(row: Row, mapping: Mapping) -> Prompt | str:
    """The prompt, or in words why there is none; for samples that are shown."""
    try:
        return to_prompt(row, mapping)
    except Unusable as error:
        return str(error)
