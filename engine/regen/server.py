"""Asks a server with OpenAI's chat surface (SGLang, vLLM) for one assistant turn, and who it is."""

import asyncio
import itertools
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from engine.regen.completion import turn_from
from engine.regen.identity import Identity, identity_from
from engine.regen.records import Message, Sampling, Turn
from engine.regen.wire import ServerDown, Wire

BASE_S = 120.0
SLOWEST_TOKENS_PER_S = 4.0
"""An answer may take BASE_S and the time that its tokens need at this speed: slower is counted as hanging."""
HANGING = 5.0
"""A server whose usual answer is slow is given so many times the time of that."""
_QUEUES = (b"sglang:num_queue_reqs", b"vllm:num_requests_waiting")


class ChatServer:
    """One server of a run. `limit_s` overrides the time limit that follows from the number of tokens."""

    def __init__(self, url: str, model: str, connections: int, limit_s: float | None = None) -> None:
        self.wire = Wire(url, connections)
        self.model = model
        self.slowest_tokens_per_s = SLOWEST_TOKENS_PER_S
        self._limit_s = limit_s
        self._request_field: str | None = None
        self._requests = itertools.count()
        self._identity: Identity | None = None
        self.mark = f"alula-{secrets.token_hex(4)}-"
        """All ids of this worker's requests to this server begin with it."""

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return self.wire.url

    async def close(self) -> None:
        """Drop all connections."""
        await self.wire.close()

    def limit_s(self, sampling: Sampling) -> float:
        """How long an answer may take."""
        return self._limit_s or BASE_S + sampling.max_tokens / self.slowest_tokens_per_s

    def usual_speed(self, tokens_per_s: float) -> None:
        """Learn how fast one answer grows on this server, for the time limit."""
        self.slowest_tokens_per_s = min(SLOWEST_TOKENS_PER_S, max(0.05, tokens_per_s / HANGING))

    async def identity(self) -> Identity:
        """What it serves, and with which flags.

        Raises:
            ServerDown: Nobody answers, or not with a list of models.
        """
        status, models = await self.wire.get("/v1/models")
        if status != 200:
            raise ServerDown(f"{self.url}/v1/models answers {status}")
        facts = []
        for path in ("/server_info", "/model_info"):
            status, body = await self.wire.get(path)
            facts.append(body if status == 200 else b"{}")
        found = identity_from(models, *facts)
        if found is None:
            raise ServerDown(f"{self.url}/v1/models is not what SGLang or vLLM answers")
        self._identity = found
        self._request_field = {"sglang": "rid", "vllm": "request_id"}.get(found.framework)
        return found

    def flag(self, name: str) -> Any:
        """One of the flags that it told, as of when it was last asked; `None` where it did not."""
        return self._identity.flags.get(name) if self._identity else None

    def new_request_id(self) -> str:
        """An id for the next request, by which its answer is known."""
        return f"{self.mark}{next(self._requests)}"

    async def queued(self) -> int | None:
        """Requests that wait inside the server; `None` where it does not tell."""
        status, body = await self.wire.get("/metrics")
        return _queued(body) if status == 200 else None

    async def ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Any] | None = None) -> Turn:
        """One assistant turn.

        Raises:
            ServerDown: Worth waiting for.
            Unanswered: This request failed.
        """
        asked: dict[str, Any] = {"model": self.model, "messages": messages, **fields(sampling)}
        if tools:
            asked["tools"] = tools
        request_id = self.new_request_id()
        if self._request_field:
            asked[self._request_field] = request_id
        body = await self.wire.post(
            "/v1/chat/completions", msgspec.json.encode(asked), self.limit_s(sampling), sampling.max_tokens
        )
        return turn_from(body, self.mark, request_id, sampling)


def served_model(url: str) -> str:
    """The name of the model that a server answers with.

    Raises:
        ServerDown: It does not answer, or not as such a server does.
    """

    async def asked() -> str:
        server = ChatServer(url, "", 1)
        try:
            return (await server.identity()).model
        finally:
            await server.close()

    return asyncio.run(asked())


def fields(sampling: Sampling) -> dict[str, Any]:
    """The fields of a request."""
    found: dict[str, Any] = msgspec.to_builtins(sampling)
    return {"max_tokens": sampling.max_tokens, **found}


def _queued(metrics: bytes) -> int | None:
    lines = [line for line in metrics.splitlines() if line.startswith(_QUEUES)]
    try:
        return round(sum(float(line.rpartition(b" ")[2]) for line in lines)) if lines else None
    except (ValueError, OverflowError):  # no number, or none that can be
        return None
