"""The console with a real engine and real jobs: stop, retry, an engine that is killed, a database that is replaced."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import Console
from engine.client import Client, EngineUnavailable
from state.alerts import raise_alert
from state.database import open_database
from state.engine import read_engine
from state.folder import StateFolder, make_private
from state.jobs import read_job
from tests.console.seeded import console, seed
from tests.limits import LIMIT_S
from widgets.title_bar import TitleBar


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateFolder]:
    """A state folder with an engine of its own."""
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    made = StateFolder(path=make_private(tmp_path / "home"))
    client = Client(made)
    client.ensure_engine()
    yield made
    try:
        client.ask("engine.stop", {})
    except EngineUnavailable:
        return


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str) -> None:
    """Wait for something."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what}"
        await pilot.pause(0.05)


def launch(folder: StateFolder, *argv: str) -> int:
    arguments = {"name": "sleeper", "kind": "command", "argv": list(argv), "working_dir": "/tmp", "environment": {}}
    return int(Client(folder).ask("jobs.launch", arguments)["job_id"])


def state_of(folder: StateFolder, job_id: int) -> str:
    with closing(open_database(folder.database_path)) as database:
        job = read_job(database, job_id)
    assert job is not None
    return job.state


def title_of(app: Console) -> str:
    record = app.screen.query_one(TitleBar).record
    return record.state if record is not None else ""


async def test_a_job_is_stopped_and_run_again(folder: StateFolder) -> None:
    job_id = launch(folder, sys.executable, "-c", "import time; time.sleep(1000)")
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: app.records.get("jobs") and app.records["jobs"][0].state == "running", "the job")
        await pilot.press("x")
        await until(pilot, lambda: type(app.screen).__name__ == "Confirmation", "the question")
        await pilot.press("y")
        await until(pilot, lambda: state_of(folder, job_id) == "stopped", "the end of the job")
        await until(pilot, lambda: app.records["jobs"][0].state == "stopped", "the end on the screen")
        await pilot.press("r")
        await until(pilot, lambda: app.records["jobs"][0].retry_of == job_id, "the new job on the screen")
        Client(folder).ask("jobs.stop", {"job_id": app.records["jobs"][0].id})
        await until(pilot, lambda: app.records["jobs"][0].state == "stopped", "the end of the new job")


async def test_an_engine_that_is_killed_is_said_to_be_down(folder: StateFolder) -> None:
    with closing(open_database(folder.database_path)) as database:
        engine = read_engine(database)
    assert engine is not None
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: title_of(app) == "engine up", "a living engine")
        os.kill(engine.pid, signal.SIGKILL)
        await until(pilot, lambda: "engine down" in title_of(app), "word of its death")
        await pilot.press("e")
        await until(pilot, lambda: title_of(app) == "engine up", "a new engine")


async def test_a_database_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    folder, other = seed(tmp_path / "one", jobs=2), seed(tmp_path / "other", jobs=9)
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: len(app.records.get("jobs", ())) == 2, "the first database")
        for suffix in ("-wal", "-shm"):
            folder.database_path.with_name(folder.database_path.name + suffix).unlink(missing_ok=True)
        with closing(open_database(other.database_path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy = tmp_path / "copy"
        shutil.copy(other.database_path, copy)
        copy.replace(folder.database_path)
        await until(pilot, lambda: len(app.records["jobs"]) == 9, "the other database")


async def test_a_new_error_calls_out(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state")
    app = console(folder)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "alerts" in app.records, "the alerts")
        with closing(open_database(folder.database_path)) as database:
            raise_alert(
                database, rule="gpu-lost", subject="gpu 1", severity="error", title="GPU 1 is [b]gone[/b]", cause="",
                remedy="Look at dmesg.", now=time.time(),
            )  # fmt: skip
        await until(pilot, lambda: any("Look at dmesg." in one.message for one in app._notifications), "the toast")


async def test_a_terminal_too_small_shows_one_line(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(30, 4)) as pilot:
        bar = app.screen.query_one(TitleBar)
        await until(pilot, lambda: bar.record is not None and bar.record.summary == "Alula: engine up, no errors", "it")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: bar.record is not None and not bar.record.summary, "the usual title")
