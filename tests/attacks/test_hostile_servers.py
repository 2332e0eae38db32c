"""A server under somebody else's control cannot make Alula wait, grow, go elsewhere or draw what it likes."""

import asyncio
import resource
import zlib
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from engine.check.live import ask_server
from engine.check.probe import probe
from engine.watch.notify import Notice, send
from engine.watch.server_client import NoAnswer, fetch, open_client
from state.settings import Notifications
from tests.watch.http_servers import serving

UNPACKED_MIB = 1024
GROWTH_LIMIT_MIB = 64
NOTICE = Notice(event="raised", host="h", rule="r", subject="s", severity="error", title="t", cause="c", remedy="m")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def bomb() -> bytes:
    """A gibibyte of zeros, as a megabyte of gzip."""
    packer, zeros = zlib.compressobj(9, zlib.DEFLATED, 31), b"\0" * (1 << 20)
    first, again = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (UNPACKED_MIB - 1)  # after a full flush a piece stands for itself


BOMB = bomb()


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def bombs(request: web.Request) -> web.StreamResponse:
    return web.Response(body=BOMB, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


async def streams_for_ever(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * (1 << 20))


async def drips(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def head_without_end(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.write(b"HTTP/1.1 200 OK\r\n" + b"X-More: y\r\n" * 100_000)  # type: ignore[attr-defined]
    await asyncio.sleep(30)
    return web.Response()


HOSTILE: dict[str, Handler] = {
    "bomb": bombs,
    "endless body": streams_for_ever,
    "slow bytes": drips,
    "endless headers": head_without_end,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_watcher_leaves_it_in_time_and_stays_small(name: str) -> None:
    before = peak_mib()
    async with serving(HOSTILE[name]) as url, open_client() as client:
        with pytest.raises(NoAnswer):
            await fetch(client, url + "/metrics", timeout_s=1.0)
    assert peak_mib() - before < GROWTH_LIMIT_MIB


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_check_of_it_says_what_is_wrong_and_stays_small(name: str) -> None:
    before = peak_mib()
    async with serving(HOSTILE[name]) as url:
        live = await ask_server(url, timeout_s=1.0)
    assert live.problem and live.server_info is None
    assert peak_mib() - before < GROWTH_LIMIT_MIB


@pytest.mark.parametrize("name", ["bomb", "endless body"])
async def test_a_probe_of_it_ends(name: str) -> None:
    hostile = HOSTILE[name]

    async def answers_only_information(request: web.Request) -> web.StreamResponse:
        if request.path == "/server_info":
            return web.json_response({"model_path": "m", "speculative_algorithm": "EAGLE3"})
        return await hostile(request)

    before = peak_mib()
    async with serving(answers_only_information) as url:
        found, _ = await asyncio.to_thread(probe, url, 1, 8)
    assert found.requests[0].problem and found.problem
    assert peak_mib() - before < 2 * GROWTH_LIMIT_MIB


async def test_no_client_follows_a_redirect() -> None:
    reached: list[str] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        reached.append(request.path)
        return web.json_response({"model_path": "stolen"})

    async with serving(elsewhere) as other:

        async def redirects(request: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(other + request.path)

        async with serving(redirects) as url, open_client() as client:
            assert (await fetch(client, url)).status == 307
            assert "redirects" in ((await ask_server(url)).problem or "")
            found, _ = await asyncio.to_thread(probe, url, 1, 8)
            assert "redirects" in (found.problem or "")
            await send([NOTICE], Notifications(webhook=url))
    assert reached == []


async def test_a_webhook_that_answers_without_end_holds_nobody_up() -> None:
    before = peak_mib()
    async with serving(streams_for_ever) as url, asyncio.timeout(5):
        await send([NOTICE], Notifications(webhook=url))
    assert peak_mib() - before < GROWTH_LIMIT_MIB
