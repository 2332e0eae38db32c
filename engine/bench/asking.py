"""Turns one prompt into requests, and what came back into records."""

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.bench.prompts import ChatTemplate
from engine.bench.records import Api, Failed, Prompt, RequestRecord, Sampling
from engine.bench.stream import AnswerReader, Reading
from engine.bench.wire import Connections

PATHS: dict[str, str] = {"generate": "/generate", "chat": "/v1/chat/completions", "completions": "/v1/completions"}
BASE_S = 120.0
SLOWEST_TOKENS_PER_S = 2.0
"""A request may take BASE_S and the time of its tokens at this speed."""
STALL_S = 60.0


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """How the requests of one point are made."""

    api: Api
    model: str
    sampling: Sampling
    stream: bool = True
    incremental: bool = False
    """The server sends each piece alone instead of the text so far (sglang, `incremental_streaming_output`)."""
    sglang: bool = False
    stall_s: float = STALL_S

    @property
    def limit_s(self) -> float:
        """How long one request may take."""
        return BASE_S + self.sampling.max_tokens / SLOWEST_TOKENS_PER_S


class Asker:
    """Asks one server."""

    def __init__(self, connections: Connections, target: Target, template: ChatTemplate | None) -> None:
        self.target = target
        self.connections = connections
        self._template = template

    def close(self) -> None:
        """Drop all connections."""
        self.connections.close()

    async def ask(
        self, prompt: Prompt, zero: float, late_s: float = 0.0
    ) -> "list[tuple[RequestRecord, Reading | None]]":
        """Hold one conversation, to its end or the first turn that fails. `zero` is when the load began."""
        found: list[tuple[RequestRecord, Reading | None]] = []
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        for number, turn in enumerate(prompt.turns, 1):
            messages.append({"role": "user", "content": turn})
            name = prompt.id if number == 1 else f"{prompt.id}#{number}"
            record, reading = await self._turn(name, messages, zero, late_s if number == 1 else 0.0)
            found.append((record, reading))
            if reading is None:
                break
            messages.append({"role": "assistant", "content": reading.text})
        return found

    def body(self, messages: list[dict[str, str]]) -> bytes:
        """The request's JSON."""
        sampling, target = self.target.sampling, self.target
        if target.api == "generate":
            return msgspec.json.encode(
                {"text": self.text(messages), "sampling_params": _native_sampling(sampling), "stream": target.stream}
            )
        fields: dict[str, Any] = {"model": target.model, **_open_ai_sampling(sampling), "stream": target.stream}
        if target.stream:
            fields["stream_options"] = {"include_usage": True}
        if target.api == "chat":
            return msgspec.json.encode({**fields, "messages": messages})
        return msgspec.json.encode({**fields, "prompt": self.text(messages)})

    def text(self, messages: list[dict[str, str]]) -> str:
        """A conversation as the endpoints without messages are given it."""
        if self._template is not None:
            return self._template.render(messages)
        return "\n\n".join(message["content"] for message in messages)

    async def _turn(
        self, name: str, messages: list[dict[str, str]], zero: float, late_s: float
    ) -> tuple[RequestRecord, Reading | None]:
        target = self.target
        body = self.body(messages)
        reader = AnswerReader(
            target.api == "generate", target.stream, target.sampling.max_tokens, incremental=target.incremental
        )
        began = time.perf_counter()
        try:
            await self.connections.ask("POST", PATHS[target.api], body, reader, target.limit_s, target.stall_s)
            return record_of(name, reader.end(), began, zero, late_s), reader.reading
        except Failed as error:
            return _failure(name, error, reader.reading, began, zero, late_s), None


def record_of(name: str, reading: Reading, began: float, zero: float, late_s: float) -> RequestRecord:
    """The record of an answer that is whole."""
    gaps = sorted(gap for gap, _ in token_gaps(reading))
    meta = reading.meta
    histogram = (meta.spec_correct_drafts_histogram or meta.spec_accept_histogram or ()) if meta else ()
    return RequestRecord(
        prompt=name,
        started_s=began - zero,
        late_s=late_s,
        ttft_s=reading.arrivals[0][0] - began,
        first_tokens=reading.arrivals[0][1],
        e2e_s=reading.arrivals[-1][0] - began,
        prompt_tokens=reading.prompt_tokens,
        completion_tokens=reading.tokens,
        counted_by_server=reading.counted_by_server,
        itl_p50_s=gaps[len(gaps) // 2] if gaps else None,
        itl_max_s=gaps[-1] if gaps else None,
        verifications=meta.spec_verify_ct if meta else None,
        histogram=tuple(histogram),
        finish_reason=reading.finish_reason,
        text=reading.text,
    )


def token_gaps(reading: Reading) -> Iterator[tuple[float, int]]:
    """Time between arrivals for each token of the later one, and how many tokens that were.

    `sglang.bench_serving` (0.5.23) counts in the same way, so that tokens that arrive together share their wait.
    """
    for (before, known), (at, tokens) in zip(reading.arrivals, reading.arrivals[1:], strict=False):
        if tokens > known:
            yield (at - before) / (tokens - known), tokens - known


def _failure(name: str, error: Failed, reading: Reading, began: float, zero: float, late_s: float) -> RequestRecord:
    arrivals = reading.arrivals
    return RequestRecord(
        prompt=name,
        started_s=began - zero,
        late_s=late_s,
        ttft_s=arrivals[0][0] - began if arrivals else None,
        e2e_s=time.perf_counter() - began,
        completion_tokens=reading.tokens,
        text=reading.text[:200],
        failure=error.kind,
        message=str(error)[:500],
    )


def _native_sampling(sampling: Sampling) -> dict[str, Any]:
    fields = {
        "temperature": sampling.temperature,
        "max_new_tokens": sampling.max_tokens,
        "ignore_eos": sampling.ignore_eos,
        "top_p": sampling.top_p,
        "sampling_seed": sampling.seed,
    }
    return {name: value for name, value in fields.items() if value is not None and value is not False}


def _open_ai_sampling(sampling: Sampling) -> dict[str, Any]:
    fields = {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "ignore_eos": sampling.ignore_eos,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }
    return {name: value for name, value in fields.items() if value is not None and value is not False}
