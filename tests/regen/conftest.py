"""A chat server on loopback whose answers can be foretold, and whose faults are scripted."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from engine.regen.plan import take_in_inputs, write_plan
from engine.regen.records import Plan, Sampling
from engine.regen.store import Store

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


def expected(messages: list[dict[str, Any]]) -> str:
    """The answer to a conversation: another one for each."""
    text = "\x00".join(f"{message['role']}:{message['content']}" for message in messages)
    return "answer " + hashlib.sha256(text.encode()).hexdigest()


class ScriptedServer:
    """Answers truly, unless a fault stands for the last user message; a fault is used once, `always` ones for ever."""

    def __init__(self) -> None:
        self.model = "scripted"
        self.faults: dict[str, list[Fault]] = {}
        self.always: dict[str, Fault] = {}
        self.asked: Counter[str] = Counter()
        self.delay_s = 0.0
        self.url = ""
        self.framework = ""
        self.info: dict[str, Any] = {}
        """What /server_info answers."""
        self.metrics_text = ""
        self.at_once = self.most_at_once = 0
        self.limit: int | None = None
        """More at once are turned away with 429."""

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": self.model, "owned_by": self.framework}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        last = body["messages"][-1]["content"]
        self.asked[last] += 1
        if self.limit is not None and self.at_once >= self.limit:
            return web.Response(status=429, headers={"Retry-After": "0"})
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._answer(request, body, last)
        finally:
            self.at_once -= 1

    async def information(self, request: web.Request) -> web.Response:
        return web.json_response(self.info)

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=self.metrics_text, status=200 if self.metrics_text else 404)

    async def _answer(self, request: web.Request, body: dict[str, Any], last: str) -> web.StreamResponse:
        if self.faults.get(last):
            return await self.faults[last].pop(0)(request)
        if last in self.always:
            return await self.always[last](request)
        await asyncio.sleep(self.delay_s)
        return web.json_response(completion(expected(body["messages"]), self.model))


def completion(content: object, model: str = "scripted", finish_reason: str = "stop") -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return {"model": model, "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 7}}


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with served() as scripted:
        yield scripted


@asynccontextmanager
async def served() -> AsyncIterator[ScriptedServer]:
    """A scripted server while it listens."""
    scripted = ScriptedServer()
    app = web.Application()
    app.router.add_get("/v1/models", scripted.models)
    app.router.add_get("/server_info", scripted.information)
    app.router.add_get("/metrics", scripted.metrics)
    app.router.add_post("/v1/chat/completions", scripted.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    scripted.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield scripted
    finally:
        await runner.cleanup()


def make_run(tmp_path: Path, url: str, prompts: list[str], concurrency: int = 4) -> tuple[Path, Plan]:
    """A run folder whose samples are these prompts, with ids p0, p1, ..."""
    source = tmp_path / "prompts.jsonl"
    rows = [msgspec.json.encode({"id": f"p{number}", "prompt": text}) for number, text in enumerate(prompts)]
    source.write_bytes(b"\n".join(rows))
    plan = Plan(
        name="trial",
        inputs=(str(source),),
        server_url=url,
        model="scripted",
        sampling=Sampling(max_tokens=16),
        concurrency=concurrency,
        created_at=0.0,
    )
    folder = tmp_path / "run"
    write_plan(folder, plan)
    store = Store(folder)
    take_in_inputs(plan, store)
    store.close()
    return folder, plan
