"""Engine and runners are killed at random moments over a queue of short jobs: none runs twice, none is forgotten, and
each end is the right one. A thousand kills: `python -m tests.benchmarks job_kills`."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.client import Client, CommandRefused, EngineUnavailable
from state.folder import state_folder
from tests.jobs.chaos import LIMIT_S, Chaos

KILLS = 30
SEED = int(os.environ.get("ALULA_CHAOS_SEED", str(time.time_ns() % 10_000)))


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    client = Client(state_folder())
    yield client
    with suppress(EngineUnavailable, CommandRefused):
        client.ask("engine.stop", {}, timeout_s=20.0)


@pytest.mark.timeout(LIMIT_S * 2 + KILLS * 4)
def test_kills_at_random_moments(client: Client, tmp_path: Path) -> None:
    outcome = Chaos(client, tmp_path, SEED).run(KILLS)
    assert (outcome.forgotten, outcome.unasked, outcome.twice, outcome.wrong) == (0, 0, [], []), f"seed {SEED}"
