"""Answers and errors as JSON and as server-sent events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from aiohttp import web

from engine.reference.answer import Refusal
from engine.reference.service import Service

SERVICE: web.AppKey[Service] = web.AppKey("service", Service)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def json_reply(content: Any, status: int = 200) -> web.Response:
    """One JSON answer."""
    return web.Response(body=msgspec.json.encode(content), status=status, content_type="application/json")


def native_error(refusal: Refusal) -> web.Response:
    """As `/generate` words its errors."""
    return json_reply({"error": {"message": str(refusal)}}, refusal.status)


def openai_error(refusal: Refusal) -> web.Response:
    """As the OpenAI endpoints word theirs (entrypoints/openai/protocol.py, `ErrorResponse`)."""
    return json_reply(openai_error_content(refusal), refusal.status)


def openai_error_content(refusal: Refusal) -> dict[str, Any]:
    """The object of an OpenAI error."""
    kind = "BadRequestError" if refusal.status < 500 else "InternalServerError"
    return {
        "object": "error",
        "message": str(refusal),
        "type": kind,
        "param": refusal.field,
        "code": refusal.status,
    }


async def event_stream(request: web.Request, events: AsyncGenerator[Any, None]) -> web.StreamResponse:
    """Send events as `data: ...` lines, `data: [DONE]` at the end."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    async with aclosing(events):
        async for event in events:
            await response.write(b"data: " + msgspec.json.encode(event) + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response
