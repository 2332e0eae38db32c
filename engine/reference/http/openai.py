"""`/v1/chat/completions` and `/v1/completions`."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from engine.reference.answer import Answer, Refusal
from engine.reference.http.bodies import (
    ChatBody,
    CompletionBody,
    OpenAiBody,
    chat_messages,
    openai_settings,
    read_body,
)
from engine.reference.http.merging import merged
from engine.reference.http.replies import SERVICE, event_stream, json_reply, openai_error, openai_error_content
from engine.reference.service import Order, Service

COMPLETION_TOKENS = 16
"""`max_tokens` of a completion that gives none, as in SGLang and OpenAI's own service."""

Choice = Callable[[int, Answer, str], dict[str, Any]]


async def chat_completions(request: web.Request) -> web.StreamResponse:
    """Answer a conversation."""
    service = request.app[SERVICE]
    try:
        body = await read_body(request, ChatBody)
        if body.logprobs or body.tools or (body.response_format or {}).get("type", "text") != "text":
            raise Refusal("logprobs, tools and response_format are not offered by the reference server.")
        messages = chat_messages(body.messages)
        try:
            prompt = service.vocabulary.chat(messages)
        except ValueError as error:
            raise Refusal(str(error), field="messages") from error
        given = body.max_completion_tokens if body.max_completion_tokens is not None else body.max_tokens
        limit = given if given is not None else max(1, service.loaded.context_length - len(prompt))
        answers = _submitted(service, body, [prompt], limit)
        if body.stream:
            return await event_stream(request, _events(body, answers, "chat.completion.chunk", _chat_choices))
        return await _whole(body, answers, "chat.completion", _chat_choice)
    except Refusal as refusal:
        return openai_error(refusal)


async def completions(request: web.Request) -> web.StreamResponse:
    """Continue one prompt or several."""
    service = request.app[SERVICE]
    try:
        body = await read_body(request, CompletionBody)
        if body.echo or body.suffix or body.logprobs is not None:
            raise Refusal("echo, suffix and logprobs are not offered by the reference server.")
        prompts = _prompts(service, body.prompt)
        limit = COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
        answers = _submitted(service, body, prompts, limit)
        if body.stream:
            return await event_stream(request, _events(body, answers, "text_completion", _completion_choices))
        return await _whole(body, answers, "text_completion", _completion_choice)
    except Refusal as refusal:
        return openai_error(refusal)


def _prompts(service: Service, given: str | list[Any]) -> list[list[int]]:
    if not given:
        raise Refusal("Prompt cannot be empty", field="prompt")
    if isinstance(given, str):
        return [service.vocabulary.encode(given)]
    if all(type(token) is int for token in given):
        return [given]
    if all(isinstance(text, str) for text in given):
        return [service.vocabulary.encode(text) for text in given]
    if all(isinstance(row, list) and all(type(token) is int for token in row) for row in given):
        return given
    raise Refusal("prompt must be a string, a list of strings, of token ids, or of lists of these.", field="prompt")


def _submitted(service: Service, body: OpenAiBody, prompts: Sequence[Sequence[int]], limit: int) -> list[Answer]:
    settings = openai_settings(body, limit)
    copies = range(body.n or 1)
    seeds = [None if settings.seed is None else settings.seed + copy for copy in copies]
    orders = [
        Order(prompt=prompt, settings=msgspec.structs.replace(settings, seed=seed), streaming=body.stream)
        for prompt in prompts
        for seed in seeds
    ]
    return service.answers(orders)


async def _whole(body: OpenAiBody, answers: list[Answer], kind: str, choice: Choice) -> web.Response:
    texts = await asyncio.gather(*(answer.whole() for answer in answers))
    content = _envelope(body, answers, kind) | {
        "choices": [choice(place, answer, texts[place]) for place, answer in enumerate(answers)],
        "usage": _usage(body, answers),
        "metadata": {"weight_version": "default"},
    }
    return json_reply(content)


def _envelope(body: OpenAiBody, answers: list[Answer], kind: str) -> dict[str, Any]:
    return {"id": answers[0].request.id, "object": kind, "created": int(time.time()), "model": body.model}


def _usage(body: OpenAiBody, answers: list[Answer]) -> dict[str, Any]:
    prompt = sum(len(answer.request.prompt) for answer in answers[:: body.n or 1])
    completion = sum(len(answer.tokens) for answer in answers)
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


def _ending(answer: Answer) -> dict[str, Any]:
    finish = answer.finish
    return {
        "logprobs": None,
        "finish_reason": finish.type if finish else None,
        "matched_stop": finish.matched if finish else None,
    }


def _chat_choice(place: int, answer: Answer, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
    return {"index": place, "message": message} | _ending(answer)


def _completion_choice(place: int, answer: Answer, text: str) -> dict[str, Any]:
    return {"index": place, "text": text} | _ending(answer)


async def _chat_choices(place: int, answer: Answer) -> AsyncIterator[dict[str, Any]]:
    yield {"index": place, "delta": {"role": "assistant", "content": ""}} | _ending(answer)
    async for text in answer.pieces():
        if text or answer.finish is not None:
            yield {"index": place, "delta": {"content": text}} | _ending(answer)


async def _completion_choices(place: int, answer: Answer) -> AsyncIterator[dict[str, Any]]:
    async for text in answer.pieces():
        if text or answer.finish is not None:
            yield _completion_choice(place, answer, text)


async def _events(
    body: OpenAiBody,
    answers: list[Answer],
    kind: str,
    choices: Callable[[int, Answer], AsyncIterator[dict[str, Any]]],
) -> AsyncGenerator[dict[str, Any], None]:
    """One event for each piece of each answer; the usage last where it was asked for."""
    envelope = _envelope(body, answers, kind)
    try:
        async for choice in merged([choices(place, answer) for place, answer in enumerate(answers)]):
            yield envelope | {"choices": [choice], "usage": None}
    except Refusal as refusal:
        yield {"error": openai_error_content(refusal)}
        return
    if body.stream_options is not None and body.stream_options.include_usage:
        yield envelope | {"choices": [], "usage": _usage(body, answers)}
