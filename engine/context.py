"""What every part of the engine is given."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from state import alerts
from state.database import open_database
from state.folder import StateFolder
from state.process_identity import boot_id
from state.records.alerts import Severity


class Refusal(Exception):
    """A command cannot be obeyed. The message says why; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True)
class EngineContext:
    """The engine as its parts see it."""

    folder: StateFolder
    stopping: asyncio.Event
    """Set once, when the engine is to end."""
    jobs_changed: asyncio.Event
    """Set by commands that the scheduler should act on at once."""
    boot_id: str = field(default_factory=boot_id)

    def database(self, *, durable: bool = True) -> sqlite3.Connection:
        """A connection of the caller's own; the caller closes it."""
        return open_database(self.folder.database_path, durable=durable)

    def raise_alert(self, *, rule: str, subject: str, severity: Severity, title: str, cause: str, remedy: str) -> None:
        """Open an alert or say again that it holds."""
        database = self.database(durable=False)
        try:
            alerts.raise_alert(
                database, rule=rule, subject=subject, severity=severity, title=title, cause=cause, remedy=remedy,
                now=time.time(),
            )  # fmt: skip
        finally:
            database.close()

    def clear_alert(self, rule: str, subject: str) -> None:
        """Close an alert if it is open."""
        database = self.database(durable=False)
        try:
            alerts.clear_alert(database, rule, subject, time.time())
        finally:
            database.close()


@dataclass(frozen=True)
class Part:
    """A supervised task: `run` goes on until it is cancelled, and may raise."""

    name: str
    run: Callable[[EngineContext], Awaitable[None]]
