"""Asks a server with OpenAI's chat surface (SGLang, vLLM) for one assistant turn, within bounds of time and size."""

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp
import httpx
import msgspec
from httpx_aiohttp import AiohttpTransport

from engine.regen.records import FailureKind, Message, Sampling

LARGEST_ANSWER = 64 * 2**20
CONNECT_S = 10.0
BASE_S = 120.0
SLOWEST_TOKENS_PER_S = 4.0
"""An answer may take BASE_S and the time that its tokens need at this speed: slower is counted as hanging."""


class Turn(msgspec.Struct, frozen=True):
    """One assistant turn as the server gave it."""

    message: Message
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    model: str


class ServerDown(Exception):
    """Nobody listens, or the server says that it is not ready. It is worth waiting for."""


class Unanswered(Exception):
    """This request has failed. `again` says whether another try may help."""

    def __init__(self, kind: FailureKind, message: str, *, again: bool, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.again = again
        self.wait_s = wait_s
        """What the server asked for in Retry-After."""


class _Choice(msgspec.Struct):
    message: dict[str, Any]
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str = ""
    usage: _Usage | None = None


class _Models(msgspec.Struct):
    data: list[dict[str, Any]]


class ChatServer:
    """A connection pool to one server."""

    def __init__(self, url: str, model: str, sampling: Sampling, concurrency: int) -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.sampling = sampling
        limits = httpx.Limits(max_connections=concurrency + 2, max_keepalive_connections=concurrency + 2)
        self.limit_s = BASE_S + sampling.max_tokens / SLOWEST_TOKENS_PER_S
        self._client = httpx.AsyncClient(
            transport=AiohttpTransport(limits=limits),
            timeout=httpx.Timeout(self.limit_s, connect=CONNECT_S),
            headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
            follow_redirects=False,
        )

    async def close(self) -> None:
        """Drop all connections."""
        await self._client.aclose()

    async def served_model(self) -> str:
        """The model that the server names first.

        Raises:
            ServerDown: Nobody answers, or not with a list of models.
        """
        try:
            async with asyncio.timeout(CONNECT_S):
                status, _, body = await self._send("GET", "/v1/models", None)
            if status != 200:
                raise ServerDown(f"{self.url}/v1/models answers {status}")
            return str(msgspec.json.decode(body, type=_Models).data[0]["id"])
        except (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError) as error:
            raise ServerDown(f"{self.url} does not answer: {describe(error)}") from error
        except (msgspec.DecodeError, IndexError, KeyError, Unanswered) as error:
            raise ServerDown(f"{self.url}/v1/models is not what SGLang or vLLM answers") from error

    async def ask(self, messages: Sequence[Message]) -> Turn:
        """One assistant turn.

        Raises:
            ServerDown: Worth waiting for.
            Unanswered: This request failed.
        """
        asked = {"model": self.model, "messages": messages, **_fields(self.sampling)}
        try:
            async with asyncio.timeout(self.limit_s):  # also for a body that trickles for ever
                status, headers, body = await self._send("POST", "/v1/chat/completions", msgspec.json.encode(asked))
        except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
            raise self._failed(error) from error
        if status != 200:
            raise _refused(status, headers, body)
        return _turn(body)

    def _failed(self, error: Exception) -> Exception:
        # httpx-aiohttp 0.2 names a reset ConnectTimeout, and a true connect timeout TimeoutException: the cause tells.
        if isinstance(error.__cause__, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return ServerDown(f"{self.url} does not answer: {describe(error)}")
        if isinstance(error.__cause__, aiohttp.ServerTimeoutError) or isinstance(error, TimeoutError):
            return Unanswered("timeout", f"no answer within {self.limit_s:.0f} s", again=True)
        return Unanswered("connection_lost", describe(error), again=True)

    async def _send(self, method: str, path: str, content: bytes | None) -> tuple[int, httpx.Headers, bytes]:
        parts, size = [], 0
        async with self._client.stream(method, self.url + path, content=content) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Unanswered(
                    "rubbish_answer", "the answer is compressed though that was not asked for", again=False
                )
            async for part in response.aiter_raw():
                size += len(part)
                if size > LARGEST_ANSWER:
                    raise Unanswered("too_large", "the answer is larger than 64 MiB", again=False)
                parts.append(part)
            return response.status_code, response.headers, b"".join(parts)


def describe(error: BaseException) -> str:
    """An error in words; some have no text of their own."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _fields(sampling: Sampling) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(sampling)
    return {"max_tokens": sampling.max_tokens, **found}


def _refused(status: int, headers: httpx.Headers, body: bytes) -> Exception:
    text = body[:2000].decode(errors="replace").strip() or "no explanation"
    message = f"HTTP {status}: {text}"
    if status == 503:
        return ServerDown(message)
    if status == 429 or status >= 500:
        return Unanswered("server_error", message, again=True, wait_s=_retry_after(headers))
    kinds: dict[int, FailureKind] = {401: "not_allowed", 403: "not_allowed", 404: "not_found"}
    if 300 <= status < 400:
        return Unanswered("redirected", f"{message} to {headers.get('location', 'nowhere')[:200]}", again=False)
    if status in (400, 413, 422) and any(
        word in text.lower() for word in ("context length", "is longer than", "too long")
    ):
        return Unanswered("context_too_long", message, again=False)
    return Unanswered(kinds.get(status, "refused_by_server"), message, again=False)


def _retry_after(headers: httpx.Headers) -> float | None:
    try:
        return min(300.0, max(0.0, float(headers["retry-after"])))
    except (KeyError, ValueError):
        return None


def _turn(body: bytes) -> Turn:
    try:
        completion = msgspec.json.decode(body, type=_Completion)
        choice = completion.choices[0]
        text = choice.message.get("content")
        message = Message(
            role="assistant",
            content=text or "",
            reasoning_content=choice.message.get("reasoning_content") or None,
            tool_calls=choice.message.get("tool_calls") or None,
        )
        msgspec.json.encode(message)
        if not isinstance(message.content, str):
            raise TypeError("the content is not text")
    except (msgspec.DecodeError, msgspec.ValidationError, IndexError, TypeError, UnicodeError) as error:
        raise Unanswered("rubbish_answer", f"not a chat completion: {describe(error)}", again=True) from error
    if not message.content.strip() and not message.tool_calls:
        raise Unanswered("empty_answer", f"an empty answer (finish reason {choice.finish_reason})", again=True)
    usage = completion.usage or _Usage()
    return Turn(
        message, choice.finish_reason or "unknown", usage.prompt_tokens, usage.completion_tokens, completion.model
    )
