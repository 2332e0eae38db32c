"""Asking a server something, with an end to the time and the size of its answer."""

import asyncio
import errno
from typing import Any

import httpx
import msgspec

TIMEOUT_S = 3.0
SIZE_LIMIT = 4 << 20


class Answer(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    body: bytes


class NoAnswer(Exception):
    """Nothing usable came back. The text says what happened."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        """Whether nothing listens at that address."""


def open_client() -> httpx.AsyncClient:
    """A client for all servers. The aiohttp transport costs a fifteenth of the CPU of httpx's own."""
    from httpx_aiohttp import HttpxAiohttpClient

    client: httpx.AsyncClient = HttpxAiohttpClient(timeout=None, trust_env=False, follow_redirects=False)
    return client


async def fetch(client: httpx.AsyncClient, url: str, timeout_s: float = TIMEOUT_S) -> Answer:
    """GET a URL.

    Raises:
        NoAnswer: Refused, silent, cut off, slower than the limit in all, or larger than `SIZE_LIMIT`.
    """
    try:
        async with asyncio.timeout(timeout_s), client.stream("GET", url) as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > SIZE_LIMIT:
                    raise NoAnswer(f"the answer does not end ({SIZE_LIMIT >> 20} MiB read)")
            return Answer(response.status_code, bytes(body))
    except TimeoutError:
        raise NoAnswer(f"no full answer within {timeout_s:.0f} s") from None
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        # httpx-aiohttp 0.2 calls a refused connection a time-out; the cause tells them apart.
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ECONNREFUSED:
            raise NoAnswer("nothing listens there", refused=True) from error
        raise NoAnswer("cannot connect to that host") from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
        raise NoAnswer("the connection broke off") from error


def json_object(answer: Answer) -> dict[str, Any] | None:
    """The answer as a JSON object; `None` where it is something else."""
    if answer.status != 200:
        return None
    try:
        decoded = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None
