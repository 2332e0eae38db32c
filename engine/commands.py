"""Obeys what consoles write into the `command` table."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.bell import heard
from engine.context import EngineContext, Refusal
from state import alerts, commands
from state.errors import StateError
from state.records.commands import Command, Outcome

POLL_S = 0.5
"""For commands of those who could not ring the bell. A look costs about 100 microseconds, nearly all the wake-up."""

PRUNE_S = 3600.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """One command, as its handler sees it. All that a handler does to the database commits together with the answer."""

    database: sqlite3.Connection
    arguments: dict[str, Any]
    context: EngineContext
    now: float


Handler = Callable[[Request], dict[str, Any]]
"""Returns the answer. Raises `Refusal`, or `msgspec.ValidationError` for arguments that make no sense."""


async def obey_commands(context: EngineContext, handlers: Mapping[str, Handler]) -> None:
    """Answer every open command, and each new one as soon as somebody rings."""
    database = context.database()
    try:
        with heard(context.folder.engine_bell_path) as rung:
            await _obey_when(rung, database, context, handlers)
    finally:
        database.close()


async def _obey_when(
    rung: asyncio.Event, database: sqlite3.Connection, context: EngineContext, handlers: Mapping[str, Handler]
) -> None:
    seen, prune_due = -1, time.monotonic()
    while True:
        rung.clear()
        version = database.execute("PRAGMA data_version").fetchone()[0]
        if version != seen:
            seen = version
            for command in commands.open_commands(database):
                obey(database, command, handlers, context)
        if time.monotonic() >= prune_due:
            prune_due = time.monotonic() + PRUNE_S
            commands.prune_commands(database, time.time())
            alerts.prune_alerts(database, time.time())
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_S):
                await rung.wait()


def obey(
    database: sqlite3.Connection, command: Command, handlers: Mapping[str, Handler], context: EngineContext
) -> None:
    """Do what a command asks and answer it, both or neither: an engine that dies here leaves the command open."""
    database.execute("BEGIN IMMEDIATE")
    try:
        outcome, answer = _attempt(database, command, handlers, context)
        commands.answer_command(database, command.id, outcome, answer, time.time())
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    context.jobs_changed.set()


def _attempt(
    database: sqlite3.Connection, command: Command, handlers: Mapping[str, Handler], context: EngineContext
) -> tuple[Outcome, dict[str, Any]]:
    handler = handlers.get(command.kind)
    if handler is None:
        return "refused", {
            "message": f"unknown command {command.kind}",
            "remedy": "the engine and the console differ in version",
        }
    database.execute("SAVEPOINT attempt")
    try:
        answer = handler(Request(database, command.arguments, context, time.time()))
    except (Refusal, StateError, msgspec.ValidationError) as refusal:
        database.execute("ROLLBACK TO attempt")
        return "refused", {"message": str(refusal), "remedy": getattr(refusal, "remedy", "")}
    except sqlite3.OperationalError:
        raise
    except Exception as error:
        log.exception("command %s failed", command.kind)
        database.execute("ROLLBACK TO attempt")
        remedy = f"look into {context.folder.engine_log_path}"
        return "failed", {"message": f"{type(error).__name__}: {error}", "remedy": remedy}
    return "done", answer
