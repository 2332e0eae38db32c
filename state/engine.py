"""The engine's own rows: who it is, when it last gave a sign, how its parts are."""

import sqlite3

from state import rows
from state.process_identity import is_alive
from state.records.engine import Engine, EnginePart

STALE_HEARTBEAT_S = 10.0
"""An engine that lives but has given no sign for this long hangs."""


def read_engine(connection: sqlite3.Connection) -> Engine | None:
    """The last engine that ran here, if one ever did."""
    return rows.read_one(
        connection,
        Engine,
        "SELECT pid, pid_started_at, boot_id, version, started_at, heartbeat_at, stopped_at FROM engine",
    )


def is_running(engine: Engine | None) -> bool:
    """Whether that very process still lives."""
    return (
        engine is not None and engine.stopped_at is None and is_alive(engine.pid, engine.pid_started_at, engine.boot_id)
    )


def write_engine(connection: sqlite3.Connection, engine: Engine) -> None:
    """Announce a new engine in the place of the last one."""
    connection.execute("DELETE FROM engine")
    rows.insert(connection, "engine", engine)


def beat(connection: sqlite3.Connection, now: float) -> None:
    """Give a sign of life."""
    connection.execute("UPDATE engine SET heartbeat_at = ?", [now])


def write_stopped(connection: sqlite3.Connection, now: float) -> None:
    """Record that the engine ended in order."""
    connection.execute("UPDATE engine SET stopped_at = ?, heartbeat_at = ?", [now, now])


def read_parts(connection: sqlite3.Connection) -> list[EnginePart]:
    """All parts, by name."""
    return rows.read(connection, EnginePart, "SELECT * FROM engine_part ORDER BY name")


def write_part(connection: sqlite3.Connection, part: EnginePart) -> None:
    """Record a part's state."""
    rows.replace(connection, "engine_part", part)


def forget_parts(connection: sqlite3.Connection) -> None:
    """Drop the parts of an engine that has ended."""
    connection.execute("DELETE FROM engine_part")
