"""Open the state database: safe settings, the schema of this program, and a clear word where that cannot be had."""

import sqlite3
from pathlib import Path

SCHEMA_VERSION = 1
"""Kept in `PRAGMA user_version`. Raised with each release that adds migrations."""


class StateError(Exception):
    """The state cannot be used. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def open_database(path: Path, *, durable: bool = False) -> sqlite3.Connection:
    """Connect in autocommit mode, creating or migrating the schema first where that is needed.

    Args:
        path: The database file; its folder is made if it is missing.
        durable: Sync to disk on every commit (for changes of state). Otherwise a power cut may lose the last commits,
            never the file.

    Raises:
        StateError: The file is newer than this program, corrupt, or cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    if connection.execute("PRAGMA user_version").fetchone()[0] < SCHEMA_VERSION:
        _migrate(connection)
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    import sqlite_utils  # 0.1 s, and only a new or old database needs it

    from state.migrations import migrations

    migrations.apply(sqlite_utils.Database(connection))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
