"""A server of OpenAI's chat form whose pace is known: it tells what a load generator should find."""

import asyncio
import json
import multiprocessing.connection
from typing import Any

from aiohttp import web

TTFT_S, GAP_S, TOKENS = 0.5, 0.03, 40


def serve_paced(pipe: multiprocessing.connection.Connection) -> None:
    """Serve on a free port until killed; sends the address into the pipe."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: multiprocessing.connection.Connection) -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_post("/v1/completions", _chat)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/health", _models)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pipe.send(f"http://127.0.0.1:{runner.addresses[0][1]}")
    await asyncio.Event().wait()


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "paced", "object": "model"}]})


async def _chat(request: web.Request) -> web.StreamResponse:
    """Tokens at planned moments, so that a late one does not delay those after it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    asked = await request.json()
    tokens = int(asked.get("max_completion_tokens") or asked.get("max_tokens") or TOKENS)
    if not asked.get("stream"):
        return web.json_response(_answer(tokens, asked))
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number in range(tokens):
        await asyncio.sleep(max(0.0, began + TTFT_S + number * GAP_S - loop.time()))
        await response.write(_event(_piece(number == tokens - 1, "messages" in asked)))
    await response.write(_event({**_piece(False, True), "choices": [], "usage": _usage(tokens)}))
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _piece(last: bool, chat: bool) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "length" if last else None}
    said = {"delta": {"role": "assistant", "content": " word"}} if chat else {"text": " word"}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "paced", "choices": [choice | said]}


def _answer(tokens: int, asked: dict[str, Any]) -> dict[str, Any]:
    text = " word" * tokens
    said = {"message": {"role": "assistant", "content": text}} if "messages" in asked else {"text": text}
    choices = [{"index": 0, "finish_reason": "length", **said}]
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "paced", "choices": choices,
            "usage": _usage(tokens)}  # fmt: skip


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 20, "completion_tokens": tokens, "total_tokens": 20 + tokens}


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
