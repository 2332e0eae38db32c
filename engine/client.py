"""How a console or a script speaks to the engine: it starts one if none runs, asks, and waits for the answer."""

import getpass
import os
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from engine.bell import ring
from engine.lock import is_locked
from state import commands
from state.database import explained, open_database
from state.engine import is_running, read_engine
from state.folder import StateFolder, private_file
from state.outside_text import plain_line
from state.records.commands import Command
from state.records.engine import Engine

START_LIMIT_S = 30.0
LOOK_S = 0.005
ENGINE_LOOK_S = 0.25
"""How often one who waits for an answer makes sure that there is an engine to give it."""


class CommandRefused(Exception):
    """The engine will not do it. The message says why, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class EngineUnavailable(Exception):
    """No engine answers. The message says what was tried, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Client:
    """Asks the engine of one state folder. Use one from one thread at a time."""

    def __init__(self, folder: StateFolder) -> None:
        self.folder = folder

    def ensure_engine(self) -> Engine:
        """Start an engine, detached from this terminal, unless one runs.

        Raises:
            EngineUnavailable: It did not come up.
            StateError: The state cannot be used.
        """
        started: subprocess.Popen[bytes] | None = None
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if engine := self.running_engine():
                if started is not None and started.pid != engine.pid:
                    # Else it could take the lock later, after this engine was told to stop.
                    with suppress(subprocess.TimeoutExpired):
                        started.wait(START_LIMIT_S)
                return engine
            if started is None and not is_locked(self.folder.engine_lock_path):
                started = self._start()
            if started is not None and (code := started.poll()) is not None:
                if code not in (0, _ALREADY_RUNNING):
                    break
                started = None  # another engine was there first; if it ends too, the next look starts one
            time.sleep(LOOK_S * 4)
        raise EngineUnavailable(
            f"the engine did not start: {_last_line(self.folder.engine_log_path)}",
            f"look into {self.folder.engine_log_path}",
        )

    def running_engine(self) -> Engine | None:
        """The engine, if it lives."""
        database = open_database(self.folder.database_path)
        try:
            engine = read_engine(database)
        finally:
            database.close()
        return engine if is_running(engine) else None

    def ask(self, kind: str, arguments: dict[str, Any], timeout_s: float = 5.0) -> dict[str, Any]:
        """Have the engine do something, and return its answer.

        A command that nobody takes in time is withdrawn, so it cannot take effect later. One that an engine left
        unanswered when it died is for the next engine, which is started here.

        Raises:
            CommandRefused: The engine said no, or failed at it.
            EngineUnavailable: No answer in time, or nothing to stop.
            StateError: The state cannot be used.
        """
        path = self.folder.database_path
        with closing(open_database(path, durable=True)) as database, explained(path):
            command = Command(kind=kind, arguments=arguments, issued_by=_who(), issued_at=time.time())
            command_id = commands.add_command(database, command)
            ring(self.folder.engine_bell_path)
            try:
                found = self._wait(database, command_id, kind, time.monotonic() + timeout_s)
            finally:
                withdrawn = commands.withdraw_command(database, command_id)
            if not withdrawn:
                found = commands.read_command(database, command_id)
        if found is not None and found.outcome is not None:
            return _answer(found)
        raise EngineUnavailable(
            f"the engine did not answer {kind} within {timeout_s:.0f} s; the request was withdrawn",
            "see whether it runs: alula engine status",
        )

    def _wait(self, database: sqlite3.Connection, command_id: int, kind: str, deadline: float) -> Command | None:
        look_for_engine_at = 0.0
        while (now := time.monotonic()) < deadline:
            found = commands.read_command(database, command_id)
            if found is None or found.outcome is not None:
                return found
            if now >= look_for_engine_at:
                look_for_engine_at = now + ENGINE_LOOK_S
                self._keep_engine(kind)
            time.sleep(LOOK_S)
        return None

    def _keep_engine(self, kind: str) -> None:
        if is_locked(self.folder.engine_lock_path):
            return
        if kind == "engine.stop":
            raise EngineUnavailable("no engine runs", "there is nothing to stop")
        self.ensure_engine()

    def _start(self) -> "subprocess.Popen[bytes]":
        with os.fdopen(private_file(self.folder.engine_log_path, os.O_WRONLY | os.O_APPEND), "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "engine.daemon"],
                cwd=_PROGRAM_ROOT,
                env={**os.environ, "ALULA_HOME": str(self.folder.path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


_ALREADY_RUNNING = 3
_PROGRAM_ROOT = Path(__file__).parents[1]
"""So that `-m` finds the packages from a checkout too, with no change to what jobs inherit."""


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # in a container the account may have no name
        user = str(os.geteuid())
    return f"{user}@{socket.gethostname()} pid {os.getpid()}"


def _answer(command: Command) -> dict[str, Any]:
    if command.outcome == "done":
        return command.answer
    raise CommandRefused(str(command.answer.get("message", "")), str(command.answer.get("remedy", "")))


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "it left no log"
    return plain_line(lines[-1], 300) if lines else "it said nothing"
