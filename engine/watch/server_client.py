"""Asking a server something, with an end to the time and the size of its answer."""

import asyncio
import errno
from collections.abc import Mapping
from contextlib import aclosing
from functools import lru_cache
from typing import Any

import httpx
import msgspec

TIMEOUT_S = 3.0
SIZE_LIMIT = 4 << 20
UNCOMPRESSED = {"Accept-Encoding": "identity"}


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

    client: httpx.AsyncClient = HttpxAiohttpClient(
        timeout=None, trust_env=False, follow_redirects=False, headers=UNCOMPRESSED
    )
    return client


def authorized(api_key: str | None) -> dict[str, str]:
    """The header by which a server knows its key; none where there is no key."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


async def fetch(
    client: httpx.AsyncClient, url: str, timeout_s: float = TIMEOUT_S, headers: Mapping[str, str] | None = None
) -> Answer:
    """GET a URL.

    Raises:
        NoAnswer: Refused, silent, cut off, slower than the limit in all, or larger than `SIZE_LIMIT`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            response = await client.send(_request(client, url, tuple((headers or {}).items())), stream=True)
            async with aclosing(response):
                return Answer(response.status_code, await read_body(response, SIZE_LIMIT))
    except TimeoutError:
        raise NoAnswer(f"no full answer within {timeout_s:.0f} s") from None
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        # httpx-aiohttp 0.2 calls a refused connection a time-out; the cause tells them apart.
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ECONNREFUSED:
            raise NoAnswer("nothing listens there", refused=True) from error
        raise NoAnswer("cannot connect to that host") from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
        raise NoAnswer("the connection broke off") from error
    except _transport_errors() as error:
        raise NoAnswer("what it says is not HTTP") from error


@lru_cache(maxsize=64)
def _request(client: httpx.AsyncClient, url: str, headers: tuple[tuple[str, str], ...]) -> httpx.Request:
    """Made once for each page that is asked again and again: to make it costs a quarter of asking."""
    return client.build_request("GET", url, headers=list(headers))


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """The body as it was sent. A compressed one is refused: a few kilobytes can unpack to gigabytes in one piece.

    Raises:
        NoAnswer: Compressed, or longer than `limit` bytes.
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise NoAnswer("the answer is compressed, which was not asked for")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > limit:
            raise NoAnswer(f"the answer does not end ({limit >> 20} MiB read)")
    return bytes(body)


def json_object(answer: Answer) -> dict[str, Any] | None:
    """The answer as a JSON object; `None` where it is something else."""
    if answer.status != 200:
        return None
    try:
        decoded = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def _transport_errors() -> type[Exception]:
    """What httpx-aiohttp 0.2 passes on because it knows no name for it, endless headers for one."""
    import aiohttp  # already there where such an error was raised, and 0.1 s that a check by httpx alone is spared

    return aiohttp.ClientError
