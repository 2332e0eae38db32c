"""Sends one request to a server, within bounds of time and size, and says what a failure means."""

import asyncio
from collections.abc import Mapping

import aiohttp

from engine.regen.records import FailureKind
from state.outside_text import plain_line

LARGEST_ANSWER = 64 * 2**20
ANSWER_BASE_BYTES, BYTES_A_TOKEN = 2**20, 256
"""No token of a vocabulary is longer than 256 bytes as JSON: an answer beyond both is not what was asked for."""
CONNECT_S = 10.0
LONGEST_MESSAGE = 2000


class ServerDown(Exception):
    """Nobody listens, or the server says that it is not ready. It is worth waiting for."""

    def __init__(self, message: str) -> None:
        super().__init__(plain_line(message, LONGEST_MESSAGE))


class Overloaded(ServerDown):
    """The server is there and has too much to do (429). `wait_s` is what it asked for in Retry-After."""

    def __init__(self, message: str, wait_s: float | None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class Unanswered(Exception):
    """This request has failed. `again` says whether another try may help."""

    def __init__(self, kind: FailureKind, message: str, *, again: bool, wait_s: float | None = None) -> None:
        super().__init__(plain_line(message, LONGEST_MESSAGE))
        self.kind: FailureKind = kind
        self.again = again
        self.wait_s = wait_s
        """What the server asked for in Retry-After."""


class Wire:
    """A connection pool to one server. To be made and used inside one event loop."""

    def __init__(self, url: str, connections: int) -> None:
        self.url = url.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections + 2),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=CONNECT_S),
            headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Drop all connections."""
        await self._session.close()

    async def post(self, path: str, content: bytes, limit_s: float, most_tokens: int) -> bytes:
        """The body of a 200 answer.

        Args:
            path: Below the server's URL.
            content: JSON.
            limit_s: For the whole answer, also one that trickles.
            most_tokens: That it can hold, which bounds its size.

        Raises:
            ServerDown: Worth waiting for.
            Unanswered: This request failed.
        """
        most_bytes = min(LARGEST_ANSWER, ANSWER_BASE_BYTES + BYTES_A_TOKEN * most_tokens)
        try:
            async with asyncio.timeout(limit_s):
                status, headers, body = await self._send("POST", path, content, most_bytes)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._failed(error, limit_s) from error
        if status != 200:
            raise refused(status, headers, body)
        return body

    async def get(self, path: str) -> tuple[int, bytes]:
        """Status and body, of a server that should answer at once.

        Raises:
            ServerDown: It does not.
        """
        try:
            async with asyncio.timeout(CONNECT_S):
                status, _, body = await self._send("GET", path, None, LARGEST_ANSWER)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ServerDown(f"{self.url} does not answer: {describe(error)}") from error
        except Unanswered as error:
            raise ServerDown(f"{self.url}{path} is not what SGLang or vLLM answers: {error}") from error
        return status, body

    def _failed(self, error: Exception, limit_s: float) -> Exception:
        if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
            return ServerDown(f"{self.url} does not answer: {describe(error)}")
        if isinstance(error, TimeoutError):
            return Unanswered("timeout", f"no answer within {limit_s:.0f} s", again=True)
        return Unanswered("connection_lost", describe(error), again=True)

    async def _send(
        self, method: str, path: str, content: bytes | None, most_bytes: int
    ) -> tuple[int, Mapping[str, str], bytes]:
        parts, size = [], 0
        async with self._session.request(method, self.url + path, data=content, allow_redirects=False) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Unanswered(
                    "rubbish_answer", "the answer is compressed though that was not asked for", again=False
                )
            async for part in response.content.iter_any():
                size += len(part)
                if size > most_bytes:
                    response.close()
                    raise Unanswered("too_large", f"the answer is larger than {most_bytes:,} bytes", again=False)
                parts.append(part)
            return response.status, response.headers, b"".join(parts)


def describe(error: BaseException) -> str:
    """An error in words; some have no text of their own."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def refused(status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    """What an answer other than 200 means."""
    text = body[:2000].decode(errors="replace").strip() or "no explanation"
    message = f"HTTP {status}: {text}"
    if status == 503:
        return ServerDown(message)
    if status == 429:
        return Overloaded(message, _retry_after(headers))
    if status >= 500:
        return Unanswered("server_error", message, again=True, wait_s=_retry_after(headers))
    kinds: dict[int, FailureKind] = {401: "not_allowed", 403: "not_allowed", 404: "not_found"}
    if 300 <= status < 400:
        return Unanswered("redirected", f"{message} to {headers.get('location', 'nowhere')[:200]}", again=False)
    if status in (400, 413, 422) and any(
        word in text.lower() for word in ("context length", "is longer than", "too long")
    ):
        return Unanswered("context_too_long", message, again=False)
    return Unanswered(kinds.get(status, "refused_by_server"), message, again=False)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return min(300.0, max(0.0, float(headers["retry-after"])))
    except (KeyError, ValueError):
        return None
