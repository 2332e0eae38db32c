"""A server on loopback whose answers and faults are scripted, and what tests do with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import msgspec
from aiohttp import web

from engine.bench.asking import Asker, Target
from engine.bench.load import LoadEnd, LoadRun
from engine.bench.records import Api, Load, Prompt, RequestRecord, Sampling
from engine.bench.wire import Connections, address_of

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def native(tokens: int, finish: bool = False, **more: Any) -> dict[str, Any]:
    """One piece of `/generate`."""
    info = {"completion_tokens": tokens, "prompt_tokens": 3, "finish_reason": {"type": "length"} if finish else None}
    return {"text": "x" * tokens, "meta_info": {**info, **more}}


async def stream(
    request: web.Request, events: Iterable[Any], pause_s: float = 0.0, done: bool = True
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(b"data: " + msgspec.json.encode(event) + b"\n\n")
        await asyncio.sleep(pause_s)
    if done:
        await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def answering(tokens: int = 8, pause_s: float = 0.0, **more: Any) -> Handler:
    """Streams so many tokens, one a piece."""

    async def handler(request: web.Request) -> web.StreamResponse:
        await request.read()
        events = [native(number, number == tokens, **more) for number in range(1, tokens + 1)]
        return await stream(request, events, pause_s)

    return handler


@contextlib.asynccontextmanager
async def serving(handler: Handler, path: str = "/generate") -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post(path, handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def asker(url: str, api: Api = "generate", stall_s: float = 60.0, **target: Any) -> Asker:
    sampling = target.pop("sampling", Sampling(max_tokens=16))
    made = Target(api=api, model="m", sampling=sampling, stall_s=stall_s, **target)
    return Asker(Connections(address_of(url)), made, None)


async def load(
    one: Asker, wanted: Load, prompts: int = 6, stopping: asyncio.Event | None = None
) -> tuple[LoadEnd, list[RequestRecord]]:
    records: list[RequestRecord] = []
    conversations = [Prompt(f"p{number}", (f"question {number}",)) for number in range(prompts)]
    run = LoadRun(one, wanted, conversations, lambda record, _: records.append(record), seed=3)
    await run.warm_up(stopping or asyncio.Event())
    end = await run.run(stopping or asyncio.Event())
    one.close()
    return end, records
