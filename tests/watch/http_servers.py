"""Servers on loopback for the watcher to ask: real HTTP, recorded answers, and every kind of trouble."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

RECORDED = Path(__file__).parent / "recorded"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, port: int = 0) -> AsyncIterator[str]:
    """Answer every path with one handler; gives the URL."""
    server = web.Server(handler)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class RecordedSglang:
    """What SGLang 0.5.17 answered on an H200, with the incident or without; counters and flags can be turned."""

    def __init__(self, name: str = "eagle") -> None:
        self.info = (RECORDED / f"sglang_0.5.17_{name}.server_info.json").read_text()
        metrics = RECORDED / f"sglang_0.5.17_{name}.metrics.txt"
        self.metrics = metrics.read_text() if metrics.exists() else None
        self.asked: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if request.path == "/server_info":
            return web.Response(text=self.info, content_type="application/json")
        if request.path == "/metrics" and self.metrics is not None:
            return web.Response(text=self.metrics)
        return web.Response(status=200 if request.path == "/health" else 404)

    def set(self, metric: str, value: float) -> None:
        lines = (self.metrics or "").splitlines()
        self.metrics = "\n".join(
            line.rpartition(" ")[0] + f" {value}" if line.startswith(f"sglang:{metric}{{") else line for line in lines
        )


async def hangs(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    return web.Response()


async def streams_for_ever(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b'{"model_path": "' + b"x" * 65536)


async def is_a_web_site(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>It works!</html>", content_type="text/html")


async def answers_rubbish(request: web.Request) -> web.StreamResponse:
    return web.Response(body=bytes(range(256)) * 64, content_type="application/json")


async def wants_a_key(request: web.Request) -> web.StreamResponse:
    return web.Response(status=401)
