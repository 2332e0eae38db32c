"""Serves a chat on loopback for a benchmark, in the process that calls it, until that is killed."""

import asyncio
import multiprocessing.connection
from collections.abc import Awaitable, Callable

from aiohttp import web


def serve_chat(
    pipe: multiprocessing.connection.Connection, model: str, chat: Callable[[web.Request], Awaitable[web.Response]]
) -> None:
    """Answer completions by `chat`, name the model, and send the URL through the pipe once it listens."""

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": model}]})

    async def serve() -> None:
        app = web.Application()
        app.add_routes([web.post("/v1/chat/completions", chat), web.get("/v1/models", models)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        pipe.send(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()

    asyncio.run(serve())
