"""Real servers on loopback, on the checkpoint that ships."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest
from threadpoolctl import threadpool_limits

from engine.reference.checkpoint import shipped_draft, shipped_target
from engine.reference.server import serve_reference
from engine.reference.settings import ServerSettings

Serve = Callable[..., AbstractAsyncContextManager[aiohttp.ClientSession]]

PROMPTS = [
    'def read_lines(path):\n    """Return the lines of a file."""\n',
    "def __init__(self, name, size=None):\n",
    "def test_bad_arguments(self):\n",
    'def dump(obj, fp, *, skipkeys=False):\n    """Serialize obj as JSON to fp."""\n',
    'def add_header(self, key, value):\n    """Add a header."""\n',
    "What does open do?",
]


def settings(algorithm: str | None = None, **more: object) -> ServerSettings:
    """Any free port, the shipped target, and the shipped draft where an algorithm is named."""
    given: dict[str, object] = {"model_path": shipped_target(), "port": 0}
    if algorithm is not None:
        given |= {"speculative_algorithm": algorithm, "speculative_draft_model_path": shipped_draft()}
    return ServerSettings(**(given | more))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Tests run side by side, and OpenBLAS threads of two processes hinder each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def serve() -> Serve:
    """Start a server; gives a client session that is bound to it."""

    @asynccontextmanager
    async def start(algorithm: str | None = None, **more: object) -> AsyncIterator[aiohttp.ClientSession]:
        async with serve_reference(settings(algorithm, **more)) as url, aiohttp.ClientSession(url) as session:
            yield session

    return start


async def post(session: aiohttp.ClientSession, path: str, body: object) -> dict[str, object]:
    """The JSON answer of a request that must succeed."""
    async with session.post(path, json=body) as response:
        content = await response.json()
        assert response.status == 200, content
        return content  # type: ignore[no-any-return]


async def chat(session: aiohttp.ClientSession, prompt: str, **more: object) -> dict[str, object]:
    """A greedy chat answer."""
    body = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": 64}
    return await post(session, "/v1/chat/completions", body | more)
