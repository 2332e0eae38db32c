from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.watch.fake_gpus import WatchedHost, build


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
