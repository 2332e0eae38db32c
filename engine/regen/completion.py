"""Reads what a server answered: a chat completion as a turn, or why it is none. Nothing in it is believed."""

import re
from typing import Annotated, Any, TypeVar

import msgspec

from engine.regen.records import Message, Sampling, Turn
from engine.regen.wire import Unanswered, describe

BROKEN_OFF = frozenset({"abort", "error"})
"""Finish reasons of an answer that the server gave up (sglang 0.5.23, managers/schedule_batch.py; vLLM)."""
_WORD = re.compile(r"[a-z_]{1,40}")
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
_Decoded = TypeVar("_Decoded")


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    id: str = ""
    model: str = ""
    usage: _Usage | None = None
    metadata: Any = None


def decoded(body: bytes, kind: type[_Decoded], what: str) -> _Decoded:
    """A body as this kind.

    Raises:
        Unanswered: It is no JSON of that form, however it may be broken.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Unanswered("rubbish_answer", f"not {what}: {describe(error)}", again=True) from error


def turn_from(body: bytes, mark: str, request_id: str, sampling: Sampling) -> Turn:
    """The turn in a chat completion.

    Args:
        body: What the server answered.
        mark: How the ids of all this worker's requests to the server begin.
        request_id: Of the request that this must answer.
        sampling: What was asked for.

    Raises:
        Unanswered: It is none, or not what was asked for.
    """
    completion = decoded(body, _Completion, "a chat completion")
    choice = completion.choices[0]
    found = choice.message
    message = Message("assistant", found.content or "", found.reasoning_content or None, found.tool_calls or None)
    check_request(completion.id, mark, request_id)
    reason = finish_word(choice.finish_reason)
    if says_nothing(message):
        cut = reason == "length"  # all of it went into reasoning: another try would end there too
        raise Unanswered("empty_answer", f"an empty answer (finish reason {reason})", again=not cut)
    usage = completion.usage or _Usage()
    if usage.completion_tokens > sampling.max_tokens:
        said = f"{usage.completion_tokens} tokens where {sampling.max_tokens} were the most"
        raise Unanswered("rubbish_answer", said, again=True)
    weights = completion.metadata.get("weight_version") if isinstance(completion.metadata, dict) else None
    return Turn(
        message, reason, usage.prompt_tokens, usage.completion_tokens, completion.model,
        weight_version=str(weights or ""),
    )  # fmt: skip


def says_nothing(message: Message) -> bool:
    """Whether an answer has neither words nor calls of tools; NULs are no words."""
    return not message.tool_calls and not message.content.replace("\0", "").strip()


def check_request(found: str, mark: str, request_id: str) -> None:
    """Raise where an answer carries the id of another request of this worker: it is another prompt's answer."""
    if mark in found and not found.endswith(request_id):
        raise Unanswered("rubbish_answer", f"the answer to request {found}, not to {request_id}", again=True)


def finish_word(reason: str | None) -> str:
    """Why an answer ended, in a word that can be stored beside others.

    Raises:
        Unanswered: The server gave the answer up.
    """
    if reason in BROKEN_OFF:
        raise Unanswered("server_error", f"the server gave the answer up ({reason})", again=True)
    return reason if reason and _WORD.fullmatch(reason) else "unknown"
