"""Asks SGLang over /generate, in tokens: what is stored is exactly what the target emitted."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.regen.answering import Ask
from engine.regen.completion import check_request, decoded, finish_word, says_nothing
from engine.regen.records import FailureKind, Message, Sample, Sampling, TokenTurn, Turn
from engine.regen.server import ChatServer
from engine.regen.tokens.template import TemplateRefused
from engine.regen.tokens.tokenizer import TargetTokenizer, model_sampling
from engine.regen.tokens.turns import message_from, next_prompt, without_end
from engine.regen.wire import Unanswered


class _Finish(msgspec.Struct):
    type: str
    message: str = ""
    status_code: int | None = None


class _Meta(msgspec.Struct):
    id: str = ""
    finish_reason: _Finish | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    weight_version: str | None = None


class _Generated(msgspec.Struct):
    output_ids: list[int]
    meta_info: _Meta


class _Parsed(msgspec.Struct):
    normal_text: str
    calls: list[dict[str, Any]]


def generate(sample: Sample, sampling: Sampling, tokenizer: TargetTokenizer, folder: Path) -> Ask:
    """Ask in tokens of this tokenizer, whose folder also holds the model's own sampling defaults."""
    chosen = model_sampling(folder, sampling)

    def ask(server: ChatServer, messages: Sequence[Message], turns: Sequence[Turn]) -> Awaitable[Turn]:
        before = [turn.tokens for turn in turns if turn.tokens is not None]
        return _ask(server, tokenizer, sample, chosen, messages, before)

    return ask


async def _ask(
    server: ChatServer,
    tokenizer: TargetTokenizer,
    sample: Sample,
    sampling: Sampling,
    messages: Sequence[Message],
    before: Sequence[TokenTurn],
) -> Turn:
    try:
        prompt_ids = next_prompt(tokenizer, messages, sample.tools, before)
    except TemplateRefused as error:
        raise Unanswered("refused_by_server", str(error), again=False) from error
    request_id = server.new_request_id()
    asked = {"input_ids": prompt_ids, "sampling_params": native_fields(sampling), "rid": request_id}
    body = await server.wire.post(
        "/generate", msgspec.json.encode(asked), server.limit_s(sampling), sampling.max_tokens
    )
    found = decoded(body, _Generated, "an answer of /generate")
    check_request(found.meta_info.id, server.mark, request_id)
    _check(found, prompt_ids, tokenizer, sampling)
    text = tokenizer.decode(without_end(tokenizer, found.output_ids))
    message = message_from(text, tokenizer.decode(prompt_ids[-16:]))
    if sample.tools:
        message = await _with_tool_calls(server, message, sample.tools)
    finish = found.meta_info.finish_reason
    reason = "tool_calls" if message.tool_calls else finish_word(finish.type if finish else None)
    if says_nothing(message):
        raise Unanswered("empty_answer", f"an empty answer (finish reason {reason})", again=reason != "length")
    return Turn(
        message=message,
        finish_reason=reason,
        prompt_tokens=len(prompt_ids),
        completion_tokens=len(found.output_ids),
        model="",
        tokens=TokenTurn(prompt_ids, found.output_ids),
        weight_version=found.meta_info.weight_version or "",
    )


def native_fields(sampling: Sampling) -> dict[str, Any]:
    """`sampling_params` of sglang 0.5.23 (sampling/sampling_params.py). Special tokens are never left out."""
    found: dict[str, Any] = {"max_new_tokens": sampling.max_tokens, "skip_special_tokens": False}
    for ours, theirs in (
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("seed", "sampling_seed"),
    ):
        if (value := getattr(sampling, ours)) is not None:
            found[theirs] = value
    return found


def _check(found: _Generated, prompt_ids: Sequence[int], tokenizer: TargetTokenizer, sampling: Sampling) -> None:
    """Raise where the answer contradicts itself or the request."""
    meta, count = found.meta_info, len(found.output_ids)
    finish = meta.finish_reason
    if finish is not None and finish.type == "abort":
        lasting = finish.status_code is not None and 400 <= finish.status_code < 500
        kind: FailureKind = "refused_by_server" if lasting else "server_error"
        raise Unanswered(kind, f"aborted: {finish.message[:500]}", again=not lasting)
    problem = None
    if meta.completion_tokens not in (None, count):
        problem = f"{count} tokens, of which it says that they are {meta.completion_tokens}"
    elif meta.prompt_tokens not in (None, len(prompt_ids)):
        problem = f"an answer to a prompt of {meta.prompt_tokens} tokens, asked were {len(prompt_ids)}"
    elif count > sampling.max_tokens:
        problem = f"{count} tokens where {sampling.max_tokens} were the most"
    elif any(not 0 <= token < tokenizer.size for token in found.output_ids):
        problem = f"a token outside the vocabulary of {tokenizer.size}: is this the target's tokenizer?"
    if problem is not None:
        raise Unanswered("rubbish_answer", problem, again=True)


async def _with_tool_calls(server: ChatServer, message: Message, tools: Sequence[Any]) -> Message:
    """Tool calls as the server's own parser finds them (sglang 0.5.23, POST /parse_function_call)."""
    asked = {"text": message.content, "tools": tools, "tool_call_parser": server.flag("tool_call_parser")}
    if not asked["tool_call_parser"]:
        return message
    body = await server.wire.post("/parse_function_call", msgspec.json.encode(asked), 60.0, len(message.content))
    parsed = decoded(body, _Parsed, "parsed tool calls")
    if not parsed.calls:
        return message
    calls = [
        {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": call.get("name"), "arguments": call.get("parameters", "{}")},
        }
        for place, call in enumerate(parsed.calls)
    ]
    return msgspec.structs.replace(message, content=parsed.normal_text, tool_calls=calls)
