"""A chat server in a process of its own whose answer to each conversation can be foretold, and checked afterwards."""

import asyncio
import multiprocessing
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from aiohttp import web

from tests.benchmarks.chat_server import serve_chat

MODEL = "foretold"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ForetoldServer:
    """Where it listens, and how often it was asked. The count lies in shared memory."""

    def __init__(self, url: str, asked: Any) -> None:
        self.url = url
        self._asked = asked

    @property
    def asked(self) -> int:
        """Requests for an answer so far."""
        return int(self._asked.value)


def foretold(question: str, words: int) -> str:
    """The answer to a question: other words for each, about six characters a word."""
    chance = random.Random(zlib.crc32(question.encode()))
    letters = "".join(chance.choices(_LETTERS, k=5 * words))
    return f"answer to {question}: " + " ".join(letters[place : place + 5] for place in range(0, 5 * words, 5))


@contextmanager
def foretold_server(words: int, delay_s: tuple[float, float]) -> Iterator[ForetoldServer]:
    """Serve while the block runs; each answer takes a time within `delay_s`."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    asked = spawn.Value("q", 0, lock=False)
    process = spawn.Process(target=_serve, args=(theirs, asked, words, delay_s), daemon=True)
    process.start()
    try:
        yield ForetoldServer(ours.recv(), asked)
    finally:
        process.kill()
        process.join()


def _serve(pipe: Any, asked: Any, words: int, delay_s: tuple[float, float]) -> None:
    chance = random.Random(7)

    async def chat(request: web.Request) -> web.Response:
        body = msgspec.json.decode(await request.read())
        asked.value += 1
        await asyncio.sleep(chance.uniform(*delay_s))
        message = {"role": "assistant", "content": foretold(body["messages"][-1]["content"], words)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": words, "total_tokens": words + 9}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
        return web.Response(body=msgspec.json.encode({**answer, "usage": usage}), content_type="application/json")

    serve_chat(pipe, MODEL, chat)
