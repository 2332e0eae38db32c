"""Conversations: lists of messages, of turns, and transcripts, cut at the turn that the target must answer."""

import re
from typing import Any

import msgspec

from engine.data.records import Message, Unusable
from engine.data.shapes.columns import ASSISTANT_NAMES, SYSTEM_NAMES, TOOL_NAMES, USER_NAMES
from engine.data.sources.decoding import kind_of

_TRANSCRIPT = re.compile(r"(?:^|\n\n)(Human|User|Assistant):[ ]?")


def messages_of(value: Any, name: str) -> tuple[Message, ...]:
    """Messages up to the last user turn before a tool answers; what an assistant said between is kept for context.

    Raises:
        Unusable: The value is no conversation, or holds no user turn.
    """
    value = _decoded(value, name)
    if not isinstance(value, list):
        raise Unusable("null_prompt" if value is None else "not_text", f"{name} is {kind_of(value)}, not a list")
    if value and all(isinstance(one, str) for one in value):
        return tuple(Message("user", one) for one in value)
    messages: list[Message] = []
    for index, one in enumerate(value):
        message = _message(one, f"{name}[{index}]")
        if message is None:
            break
        messages.append(message)
    return cut_at_last_user(messages, name)


def cut_at_last_user(messages: list[Message], name: str) -> tuple[Message, ...]:
    """Leave out what follows the last user turn.

    Raises:
        Unusable: There is no user turn, or a system message stands after the first turn.
    """
    last = max((index for index, one in enumerate(messages) if one.role == "user"), default=None)
    if last is None:
        raise Unusable("null_prompt", f"{name} has no user turn")
    kept = messages[: last + 1]
    if any(one.role == "system" for one in kept[1:]):
        raise Unusable("role_order", f"{name} has a system message after the first turn")
    return tuple(kept)


def transcript(text: str, name: str) -> tuple[Message, ...]:
    """Messages of a text such as `Human: ... Assistant: ...`.

    Raises:
        Unusable: It has no user turn.
    """
    parts = _TRANSCRIPT.split(text)
    roles = ("assistant" if role == "Assistant" else "user" for role in parts[1::2])
    messages = [
        Message("assistant" if role == "assistant" else "user", content.strip())
        for role, content in zip(roles, parts[2::2], strict=True)
    ]
    return cut_at_last_user(messages, name)


def is_transcript(text: object) -> bool:
    """Whether a text is written as `Human: ... Assistant: ...`."""
    return isinstance(text, str) and len(_TRANSCRIPT.findall(text[:100_000])) >= 2


def is_message(value: object) -> bool:
    """Whether this is a message with role and content, in OpenAI's or ShareGPT's names."""
    return isinstance(value, dict) and (
        ("role" in value and "content" in value) or ("from" in value and "value" in value)
    )


def uses_tools(value: object) -> bool:
    """Whether a message calls a tool or is a tool's answer."""
    if not isinstance(value, dict):
        return False
    role = str(value.get("role", value.get("from", ""))).lower()
    return role in TOOL_NAMES or role == "function_call" or bool(value.get("tool_calls"))


def _message(value: Any, where: str) -> Message | None:
    """One message; `None` where a tool is at work, after which nothing can be asked again."""
    if not isinstance(value, dict):
        raise Unusable("not_text", f"{where} is {kind_of(value)}, not a message")
    if uses_tools(value):
        return None
    role = value.get("role", value.get("from"))
    content = value.get("content", value.get("value"))
    if not isinstance(role, str):
        raise Unusable("role_order", f"{where} has no role")
    return Message(_role(role.lower(), where), _content(content, where))


def _role(role: str, where: str) -> Any:
    if role in USER_NAMES:
        return "user"
    if role in ASSISTANT_NAMES:
        return "assistant"
    if role in SYSTEM_NAMES:
        return "system"
    raise Unusable("role_order", f"{where}: the role {role[:40]!r} is unknown")


def _content(content: Any, where: str) -> str:
    if isinstance(content, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in content):
        return "".join(str(one.get("text", "")) for one in content)
    if content is None:
        raise Unusable("null_prompt", f"{where}: the content is null")
    if not isinstance(content, str):
        raise Unusable("not_text", f"{where}: the content is {kind_of(content)}, not text")
    return content


def _decoded(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return value
    if is_transcript(value):
        parts = transcript(value, name)
        return [{"role": one.role, "content": one.content} for one in parts]
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        raise Unusable("not_text", f"{name} is text that holds no list of messages") from None
