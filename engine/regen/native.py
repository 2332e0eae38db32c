"""Reads samples that are the target's own already: conversations, text by the template, or tokens with a mask."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.regen.formats import ASSISTANT_NAMES, USER_NAMES, Unusable, tools_of
from engine.regen.records import Message, Rejection
from state.outside_file import open_regular


class Native(msgspec.Struct, frozen=True, kw_only=True):
    """One sample; exactly one of conversation, text and input_ids is there."""

    id: str
    line: int
    source: str
    conversation: tuple[Message, ...] = ()
    tools: list[Any] | None = None
    text: str | None = None
    input_ids: list[int] | None = None
    loss_mask: list[int] | None = None

    def digest(self) -> bytes:
        """For the split, where there is no prompt to go by."""
        return hashlib.sha256(msgspec.json.encode(self.text if self.text is not None else self.input_ids)).digest()


class _TokenRecord(msgspec.Struct):
    input_ids: list[int]
    loss_mask: list[int]


def read_native(path: Path) -> Iterator[Native | Rejection]:
    """Every record of a JSONL file.

    Raises:
        OSError: It cannot be read.
    """
    with open_regular(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _native(path, number, line)


def _native(path: Path, number: int, line: bytes) -> Native | Rejection:
    def rejected(reason: str, remedy: str) -> Rejection:
        return Rejection(str(path), number, reason, remedy)

    try:
        record = msgspec.json.decode(line)
        if not isinstance(record, dict):
            return rejected("not an object", "give one JSON object a line")
        name = f"native/{str(record.get('id', f'{path.name}:{number}'))[:300]}"
        if "input_ids" in record:
            tokens = msgspec.convert(record, _TokenRecord)
            if len(tokens.input_ids) != len(tokens.loss_mask) or not set(tokens.loss_mask) <= {0, 1}:
                return rejected("loss_mask does not fit input_ids", "give a 0 or 1 for each token")
            return Native(
                id=name, line=number, source=str(path), input_ids=tokens.input_ids, loss_mask=tokens.loss_mask
            )
        if isinstance(record.get("text"), str):
            return Native(id=name, line=number, source=str(path), text=record["text"])
        messages = record.get("conversations", record.get("messages"))
        conversation = tuple(_message(one) for one in messages) if isinstance(messages, list) else ()
        if not any(message.role == "assistant" for message in conversation):
            return rejected("no answer in it", "give conversations with assistant turns, text, or input_ids")
        return Native(
            id=name, line=number, source=str(path), conversation=conversation, tools=tools_of(record.get("tools"))
        )
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, ValueError, Unusable, RecursionError) as error:
        return rejected(f"not usable: {error}", "repair the line, or remove it")


def _message(found: Any) -> Message:
    if not isinstance(found, dict):
        raise ValueError("a message is not an object")
    role, content = str(found.get("role", found.get("from"))).lower(), found.get("content", found.get("value"))
    role = "user" if role in USER_NAMES else "assistant" if role in ASSISTANT_NAMES else role
    if role not in ("system", "user", "assistant") or not isinstance(content, str):
        raise ValueError(f"a message of role {role[:40]!r} with content that is no text, or no such role")
    content.encode()
    return msgspec.convert({**found, "role": role, "content": content}, Message)
