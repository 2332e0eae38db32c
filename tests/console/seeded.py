"""A state folder as a busy host fills it, and the console on it."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from console.app import Console
from state.database import open_database
from state.folder import StateFolder, make_private
from tests.benchmarks.feeder import Feeder
from tests.limits import LIMIT_S


def seed(path: Path, *, gpus: int = 8, jobs: int = 40) -> StateFolder:
    """Ten minutes of a host's life. The engine's row names this process, so the console takes it for alive."""
    folder = StateFolder(path=make_private(path))
    with closing(open_database(folder.database_path)) as database:
        Feeder(database, gpu_count=gpus, job_count=jobs, seed=1).prepare(time.time())
    return folder


def empty(path: Path) -> StateFolder:
    """A state folder that nothing has written to."""
    folder = StateFolder(path=make_private(path))
    open_database(folder.database_path).close()
    return folder


def console(folder: StateFolder) -> Console:
    """The console, without starting an engine of its own."""
    os.environ.pop("NO_COLOR", None)
    return Console(folder, start_engine=False)


def stand_still(monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """One moment, UTC, a terminal with colours and Unicode: so that a picture is the same on every machine."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("ALULA_ASCII", "0")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: now)


async def ready(pilot: Pilot[Any], holds: Callable[[], object], what: str = "") -> None:
    """Wait until something holds, and all that it has set off is drawn."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, what or text_of(pilot.app)
        await pilot.pause(0.02)
    await pilot.pause()


def text_of(app: App[Any]) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
