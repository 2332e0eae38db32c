import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from sqlite3 import Connection

import pytest

from engine.context import EngineContext, Part
from engine.supervisor import supervise
from state.database import open_database
from state.folder import StateFolder
from tests.watch.fake_gpus import WatchedHost, build

RunningParts = Callable[..., AbstractAsyncContextManager[Connection]]


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def watch(fake_library: Path, tmp_path: Path) -> Iterator[Callable[[str], WatchedHost]]:
    hosts: list[WatchedHost] = []

    def start(script: str) -> WatchedHost:
        hosts.append(WatchedHost(fake_library, tmp_path, script))
        return hosts[-1]

    yield start
    for host in hosts:
        host.close()


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunningParts:
    monkeypatch.setenv("ALULA_CONFIG_HOME", str(tmp_path / "config"))
    folder = StateFolder(path=tmp_path)

    @asynccontextmanager
    async def run(parts: list[Part]) -> AsyncIterator[Connection]:
        context = EngineContext(folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())
        database = open_database(folder.database_path)
        tasks = [asyncio.create_task(supervise(part, context)) for part in parts]
        yield database
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        database.close()

    return run
