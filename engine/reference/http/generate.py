"""`/generate`, SGLang's own endpoint."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from aiohttp import web

from engine.reference.answer import Answer, Refusal
from engine.reference.http.bodies import GenerateBody, native_settings, read_body
from engine.reference.http.merging import merged
from engine.reference.http.replies import SERVICE, event_stream, json_reply, native_error
from engine.reference.requests import Request
from engine.reference.service import Order, Service


async def generate(request: web.Request) -> web.StreamResponse:
    """Answer one prompt or a list of them, streamed or whole."""
    service = request.app[SERVICE]
    try:
        body = await read_body(request, GenerateBody)
        answers = _submitted(service, body)
        if body.stream:
            return await event_stream(request, _events(service, answers))
        contents = await asyncio.gather(*(_whole(service, answer) for answer in answers))
    except Refusal as refusal:
        return native_error(refusal)
    return json_reply(contents if _is_batch(body) else contents[0])


def meta_info(service: Service, answer: Answer) -> dict[str, Any]:
    """`meta_info` of one answer, with the field names of SGLang 0.5.23."""
    request = answer.request
    line, now = request.timeline, time.perf_counter()
    count = len(answer.tokens)
    info: dict[str, Any] = {
        "id": request.id,
        "finish_reason": answer.finish.public() if answer.finish else None,
        "prompt_tokens": len(request.prompt),
        "weight_version": "default",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "completion_tokens": count,
        "cached_tokens": 0,
        "cached_tokens_details": None,
        "dp_rank": None,
        "e2e_latency": (line.finished or now) - line.received,
    }
    if line.admitted is not None and line.first_token is not None:
        info["queue_time"] = line.admitted - line.received
        info["first_token_latency"] = line.first_token - line.received
        decoding_s = (line.finished or now) - line.first_token
        info["decode_throughput"] = (count - 1) / decoding_s if count > 1 and decoding_s > 0 else 0.0
    if service.loaded.num_steps:
        info |= _speculative(request, count, service.loaded.num_steps)
    if request.hidden_states is not None and answer.finish is not None:
        info["hidden_states"] = _hidden_states(request)
    return info


def _speculative(request: Request, count: int, num_steps: int) -> dict[str, Any]:
    """Accept length counts the prompt's own first token too, as in SGLang; absent before a verification."""
    verifications, correct = request.verifications, request.correct_drafts
    if not verifications:
        return {}
    proposed = verifications * num_steps
    return {
        "spec_accept_rate": correct / proposed,
        "spec_accept_length": count / verifications,
        "spec_num_correct_drafts": correct,
        "spec_num_proposed_drafts": proposed,
        "spec_verify_ct": verifications,
        "spec_correct_drafts_histogram": [request.accepted[number] for number in range(num_steps + 1)],
    }


def _hidden_states(request: Request) -> list[Any]:
    """The prompt's states as a table, then one row for each further token."""
    prompt, *later = request.hidden_states or []
    rows = [row for states in later for row in states.tolist()]
    return [prompt.tolist(), *rows[: len(request.tokens) - 1]]


def _submitted(service: Service, body: GenerateBody) -> list[Answer]:
    prompts = _prompts(service, body)
    if body.return_logprob:
        raise Refusal("return_logprob is not offered by the reference server.")
    given = body.sampling_params
    each = given if isinstance(given, list) else [given] * len(prompts)
    ids = body.rid if isinstance(body.rid, list) else [body.rid if len(prompts) == 1 else None] * len(prompts)
    if len(each) != len(prompts) or len(ids) != len(prompts):
        raise Refusal("sampling_params and rid must have one entry for each prompt.")
    settings = [native_settings(one) for one in each]
    orders = [
        Order(
            prompt=prompt,
            settings=chosen,
            streaming=body.stream,
            hidden_states=body.return_hidden_states,
            request_id=name,
        )
        for prompt, chosen, name in zip(prompts, settings, ids, strict=True)
    ]
    return service.answers(orders)


def _prompts(service: Service, body: GenerateBody) -> list[Sequence[int]]:
    if (body.text is None) == (body.input_ids is None):
        raise Refusal("Either text or input_ids should be provided.")
    if body.text is not None:
        texts = [body.text] if isinstance(body.text, str) else body.text
        prompts: list[Any] = [service.vocabulary.encode(text) for text in texts]
    else:
        given = body.input_ids or []
        prompts = given if given and isinstance(given[0], list) else [given]
    if not prompts:
        raise Refusal("The batch is empty.")
    for prompt in prompts:
        if not isinstance(prompt, list) or not all(type(token) is int for token in prompt):
            raise Refusal("input_ids must be a list of integers, or a list of such lists.")
    return prompts


def _is_batch(body: GenerateBody) -> bool:
    return isinstance(body.text, list) or bool(body.input_ids and isinstance(body.input_ids[0], list))


async def _whole(service: Service, answer: Answer) -> dict[str, Any]:
    await answer.whole()
    return _content(service, answer)


async def _events(service: Service, answers: list[Answer]) -> AsyncGenerator[dict[str, Any], None]:
    """Cumulative text and ids, as SGLang streams them; a batch is told apart by `index`."""

    async def contents(place: int, answer: Answer) -> AsyncIterator[dict[str, Any]]:
        async for _ in answer.pieces():
            yield _content(service, answer) | ({"index": place} if len(answers) > 1 else {})

    try:
        async for content in merged([contents(place, answer) for place, answer in enumerate(answers)]):
            yield content
    except Refusal as refusal:
        yield {"error": {"message": str(refusal), "code": refusal.status}}


def _content(service: Service, answer: Answer) -> dict[str, Any]:
    return {"text": answer.text, "output_ids": list(answer.tokens), "meta_info": meta_info(service, answer)}
