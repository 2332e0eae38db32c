"""The engine process: one for each folder, supervised parts, commands obeyed once."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import engine.supervisor
from engine.client import Client, CommandRefused, EngineUnavailable
from engine.commands import Handler, Request, obey, obey_commands
from engine.context import EngineContext, Part, Refusal
from engine.lock import is_locked
from engine.supervisor import RESTART_RULE, supervise, wait_before_restart
from state.alerts import open_alerts, read_alerts
from state.commands import add_command, open_commands, read_command
from state.database import open_database
from state.engine import read_parts
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.records.commands import Command
from tests.limits import LIMIT_S

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    return state_folder()


@pytest.fixture
def database(folder: StateFolder) -> Iterator[sqlite3.Connection]:
    with closing(open_database(folder.database_path)) as database:
        yield database


@pytest.fixture
def client(folder: StateFolder) -> Iterator[Client]:
    client = Client(folder)
    yield client
    with suppress(EngineUnavailable, CommandRefused, StateError):
        client.ask("engine.stop", {}, timeout_s=LIMIT_S)
    wait_until(lambda: not is_locked(folder.engine_lock_path), "the engine to stop")


def context(folder: StateFolder) -> EngineContext:
    return EngineContext(folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())


def ask(database: sqlite3.Connection, kind: str, **arguments: Any) -> Command:
    command = Command(kind=kind, arguments=arguments, issued_by="me", issued_at=1.0)
    found = read_command(database, add_command(database, command))
    assert found is not None
    return found


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S:.0f} s: {what}"
        time.sleep(0.02)


def test_many_consoles_start_one_engine(client: Client) -> None:
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: Client(client.folder).ensure_engine().pid, range(6)))
    assert len(set(found)) == 1


def test_a_second_engine_goes_away(client: Client) -> None:
    first = client.ensure_engine()
    second = subprocess.run([sys.executable, "-m", "engine.daemon"], cwd=ROOT, check=False)
    assert second.returncode == 3
    running = client.running_engine()
    assert running is not None and running.pid == first.pid


def test_many_ask_at_once_and_each_gets_its_own_answer(client: Client) -> None:
    client.ensure_engine()

    def launch(number: int) -> tuple[int, int]:
        answer = Client(client.folder).ask("jobs.launch", {"argv": ["true"], "name": str(number)}, timeout_s=LIMIT_S)
        return number, answer["job_id"]

    with ThreadPoolExecutor(8) as pool:
        answers = dict(pool.map(launch, range(40)))
    with closing(open_database(client.folder.database_path)) as database:
        names = dict(database.execute("SELECT id, name FROM job").fetchall())
    assert {number: int(names[job_id]) for number, job_id in answers.items()} == {n: n for n in range(40)}


def test_an_engine_that_was_killed_is_followed_by_another(client: Client) -> None:
    first = client.ensure_engine()
    os.kill(first.pid, signal.SIGKILL)
    assert client.ask("jobs.launch", {"argv": ["true"]}, timeout_s=LIMIT_S)["job_id"] == 1
    second = client.running_engine()
    assert second is not None and second.pid != first.pid


def test_stopping_without_an_engine_does_not_start_one(client: Client) -> None:
    with pytest.raises(EngineUnavailable, match="no engine"):
        client.ask("engine.stop", {})
    assert client.running_engine() is None
    with closing(open_database(client.folder.database_path)) as database:
        assert open_commands(database) == []


def test_a_request_that_nobody_takes_is_withdrawn(client: Client) -> None:
    engine = client.ensure_engine()
    # Stopped while it holds the write lock it would hold everybody up, so the lock is taken first.
    with closing(open_database(client.folder.database_path)) as database:
        database.execute("BEGIN IMMEDIATE")
        os.kill(engine.pid, signal.SIGSTOP)
        database.execute("COMMIT")
    try:
        with pytest.raises(EngineUnavailable, match="withdrawn"):
            client.ask("jobs.launch", {"argv": ["true"]}, timeout_s=0.2)
    finally:
        os.kill(engine.pid, signal.SIGCONT)
    assert client.ask("jobs.launch", {"argv": ["true"]}, timeout_s=LIMIT_S)["job_id"] == 1


def test_an_engine_that_cannot_start_is_told(client: Client) -> None:
    client.folder.database_path.write_text("not a database " * 100)
    with pytest.raises(StateError, match="damaged") as told:
        client.ensure_engine()
    assert "alula db check" in told.value.remedy


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - the condition is in the database
            await asyncio.sleep(0.01)


async def test_a_part_that_fails_is_started_again_and_told(
    folder: StateFolder, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.supervisor, "STEADY_S", 0.2)
    runs = 0
    healthy = asyncio.Event()

    async def run(context: EngineContext) -> None:
        nonlocal runs
        runs += 1
        if runs <= 2:
            raise OSError("\x1b[31mthe device is gone")
        healthy.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(supervise(Part("flaky", run), context(folder)))
    await until(lambda: open_alerts(database))
    (alert,) = open_alerts(database)
    assert (alert.rule, alert.subject) == (RESTART_RULE, "engine part flaky")
    assert "the device is gone" in alert.cause and "\x1b" not in alert.cause
    await until(healthy.is_set)
    await until(lambda: not open_alerts(database))
    (part,) = read_parts(database)
    assert (part.state, part.restarts) == ("running", 2)
    assert len(read_alerts(database)) == 1
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_waits_before_a_restart_grow_and_are_bounded() -> None:
    waits = [wait_before_restart(failures) for failures in range(1, 100)]
    assert waits == sorted(waits) and waits[0] < 1 and waits[-1] == max(waits) <= 60


def test_a_command_and_its_answer_are_stored_together_or_not_at_all(
    folder: StateFolder, database: sqlite3.Connection
) -> None:
    """An engine that is killed while it obeys leaves the command open, and none of its effects."""

    def die(request: Request) -> dict[str, Any]:
        ask(request.database, "effect")
        raise KeyboardInterrupt

    command = ask(database, "die")
    with pytest.raises(KeyboardInterrupt):
        obey(database, command, {"die": die}, context(folder))
    assert [found.kind for found in open_commands(database)] == ["die"]


def test_what_handlers_answer(folder: StateFolder, database: sqlite3.Connection) -> None:
    def refuse(request: Request) -> dict[str, Any]:
        ask(request.database, "effect")
        raise Refusal("no room", "make room")

    def fail(request: Request) -> dict[str, Any]:
        ask(request.database, "effect")
        raise ZeroDivisionError

    handlers: dict[str, Handler] = {"refuse": refuse, "fail": fail, "double": lambda r: {"x": r.arguments["x"] * 2}}
    answers = {}
    for kind in (*handlers, "unknown"):
        command = ask(database, kind, x=4)
        obey(database, command, handlers, context(folder))
        answered = read_command(database, command.id)
        assert answered is not None and answered.answered_at is not None
        answers[kind] = answered
    assert answers["double"].answer == {"x": 8}
    assert answers["refuse"].outcome == "refused" and answers["refuse"].answer["remedy"] == "make room"
    assert answers["fail"].outcome == "failed" and "ZeroDivisionError" in answers["fail"].answer["message"]
    assert answers["unknown"].outcome == "refused"
    assert open_commands(database) == []


async def test_commands_of_a_dead_engine_are_obeyed_once(folder: StateFolder, database: sqlite3.Connection) -> None:
    seen: list[int] = []

    def note(request: Request) -> dict[str, Any]:
        seen.append(request.arguments["number"])
        return {}

    for number in range(5):
        ask(database, "note", number=number)
    for _ in range(2):
        task = asyncio.create_task(obey_commands(context(folder), {"note": note}))
        await until(lambda: not open_commands(database))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert seen == [0, 1, 2, 3, 4]


def test_an_engine_whose_database_was_taken_away_makes_room(client: Client) -> None:
    first = client.ensure_engine()
    for path in client.folder.path.glob("alula.sqlite*"):
        path.unlink()
    wait_until(lambda: not is_locked(client.folder.engine_lock_path), "the engine to end")
    second = client.ensure_engine()
    assert second.pid != first.pid
    assert client.ask("jobs.launch", {"argv": ["true"]}, timeout_s=LIMIT_S)["job_id"] == 1


def test_the_engine_ends_in_order_at_sigterm(client: Client) -> None:
    engine = client.ensure_engine()
    os.kill(engine.pid, signal.SIGTERM)
    wait_until(lambda: not is_locked(client.folder.engine_lock_path), "the engine to stop")
    with closing(open_database(client.folder.database_path)) as database:
        assert database.execute("SELECT stopped_at FROM engine").fetchone()[0] is not None
        assert read_parts(database) == []
