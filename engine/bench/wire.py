"""One HTTP/1.1 connection that notes when bytes arrive, before any task is woken.

httptools parses (it is what uvicorn uses); there are no redirects, proxies or cookies here: a benchmark speaks to one
server, and whatever else it answered would be part of the result.
"""

import asyncio
import ssl
import time
from typing import Protocol
from urllib.parse import urlsplit

import httptools
import msgspec

from engine.bench.records import BenchError, Failed

LARGEST_ANSWER = 256 * 2**20
CONNECT_S = 10.0


class Sink(Protocol):
    """Takes an answer as it arrives; may raise `Failed` to have the connection dropped."""

    def status(self, code: int) -> None:
        """The status line has arrived."""

    def feed(self, at: float, data: bytes) -> None:
        """A piece of the body; `at` is `time.perf_counter()` when its bytes were read from the socket."""


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int
    secure: bool
    base: str
    """Path before the endpoints' own."""

    def head(self, method: str, path: str, size: int, key: str = "") -> bytes:
        """Request line and headers."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"{method} {self.base}{path} HTTP/1.1", f"Host: {shown}:{self.port}", "Accept-Encoding: identity"]
        if key:
            lines.append(f"Authorization: Bearer {key}")
        if size:
            lines += ["Content-Type: application/json", f"Content-Length: {size}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def address_of(url: str) -> Address:
    """The parts of a base URL.

    Raises:
        BenchError: It is none.
    """
    try:
        parts = urlsplit(url.strip().rstrip("/") if "://" in url else f"http://{url.strip().rstrip('/')}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise BenchError(f"{url} is no address: {error}", "give it like http://127.0.0.1:30000") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or any(ord(sign) < 33 for sign in url.strip()):
        raise BenchError(f"{url} is no address", "give it like http://127.0.0.1:30000")
    return Address(parts.hostname, port, parts.scheme == "https", parts.path)


class Connection(asyncio.Protocol):
    """Kept alive; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._sink: Sink | None = None
        self._done: asyncio.Future[None] | None = None
        self._size = 0
        self._status = 0
        self._bounded = False
        self._keep = True
        self._limit_at = 0.0
        self._stall_s = 0.0
        self._watch: asyncio.TimerHandle
        self.arrived_at: float | None = None
        self.used = 0

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, sink: Sink, limit_s: float, stall_s: float) -> None:
        """Send a request, feed the answer to the sink, return when it is complete.

        Args:
            request: Head and body.
            sink: Takes the answer.
            limit_s: The whole may take so long.
            stall_s: So long may pass between two arrivals once the answer has begun.

        Raises:
            Failed: It is not complete.
        """
        if self._transport is None:
            raise Failed("connection_lost", "the connection is closed")
        loop = asyncio.get_running_loop()
        self._sink, self._done = sink, loop.create_future()
        self._parser, self._size, self._status, self._bounded = httptools.HttpResponseParser(self), 0, 0, False
        self.arrived_at, self._keep = None, True
        self._limit_at, self._stall_s = time.perf_counter() + limit_s, stall_s
        self.used += 1
        self._watch = loop.call_later(min(limit_s, stall_s), self._look, loop)
        self._transport.write(request)
        try:
            await self._done
        finally:
            self._watch.cancel()
            complete = self._done.done() and not self._done.cancelled() and self._done.exception() is None
            self._sink = self._done = None
            if not complete or not self._keep:
                self.close()

    def close(self) -> None:
        """Drop it."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.perf_counter()
        stall_at = self.arrived_at + self._stall_s if self.arrived_at is not None else self._limit_at
        if now >= self._limit_at:
            self._fail(Failed("timeout", "the answer took longer than its limit"))
        elif now >= stall_at:
            self._fail(Failed("stalled", f"nothing arrived for {self._stall_s:.0f} s"))
        else:
            self._watch = loop.call_later(max(0.001, min(self._limit_at, stall_at) - now), self._look, loop)

    def _fail(self, error: Failed) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Note the time, then parse."""
        if self._parser is None or self._done is None or self._done.done():
            self.close()
            return
        self.arrived_at = time.perf_counter()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            cause = error.__context__
            is_ours = isinstance(cause, Failed)
            self._fail(cause if is_ours else Failed("rubbish", f"not HTTP/1.1: {error}"))  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer without a length ends here; any other one is broken off."""
        self._transport = None
        if self._done is None or self._done.done():
            return
        if exc is None and self._status and not self._bounded:
            self._done.set_result(None)
        else:
            self._fail(Failed("connection_lost", str(exc) if exc else "the server closed the connection"))

    # httptools' callbacks

    def on_status(self, status: bytes) -> None:
        """Reason phrase; the code is known with the headers."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Whether the body's end can be told."""
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self._bounded = True

    def on_headers_complete(self) -> None:
        """Tell the sink the status."""
        assert self._parser is not None and self._sink is not None
        self._status = self._parser.get_status_code()
        if self._status >= 200:
            self._sink.status(self._status)

    def on_body(self, body: bytes) -> None:
        """Feed the sink."""
        assert self._sink is not None and self.arrived_at is not None
        self._size += len(body)
        if self._size > LARGEST_ANSWER:
            raise Failed("too_large", f"the answer is larger than {LARGEST_ANSWER >> 20} MiB")
        self._sink.feed(self.arrived_at, body)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        assert self._parser is not None
        if self._status >= 200 and self._done is not None and not self._done.done():
            self._keep = self._parser.should_keep_alive()
            self._done.set_result(None)


class Connections:
    """Connections to one server, used again as they come free."""

    def __init__(self, address: Address, key: str = "") -> None:
        self.address = address
        self.key = key
        self._free: list[Connection] = []
        self._ssl = ssl.create_default_context() if address.secure else None

    async def ask(self, method: str, path: str, body: bytes, sink: Sink, limit_s: float, stall_s: float) -> None:
        """One request. A kept connection that the server had closed meanwhile is replaced by a new one, once.

        Raises:
            Failed: No complete answer.
        """
        request = self.address.head(method, path, len(body), self.key) + body
        while self._free:
            kept = self._free.pop()
            if not kept.is_open:
                continue
            try:
                await self._exchange(kept, request, sink, limit_s, stall_s)
            except Failed as error:
                if error.kind != "connection_lost" or kept.arrived_at is not None:
                    raise
                break
            return
        await self._exchange(await self._open(), request, sink, limit_s, stall_s)

    def close(self) -> None:
        """Drop all that are free."""
        for connection in self._free:
            connection.close()
        self._free.clear()

    async def _exchange(
        self, connection: Connection, request: bytes, sink: Sink, limit_s: float, stall_s: float
    ) -> None:
        await connection.exchange(request, sink, limit_s, stall_s)
        if connection.is_open:
            self._free.append(connection)

    async def _open(self) -> Connection:
        address, loop = self.address, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, connection = await loop.create_connection(Connection, address.host, address.port, ssl=self._ssl)
        except (OSError, TimeoutError) as error:
            raise Failed("refused", f"{address.host}:{address.port} cannot be reached: {error or 'timeout'}") from error
        return connection
