"""Open the state database: safe settings, the schema of this program, and a clear word where that cannot be had."""

import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from state.errors import StateError
from state.folder import private_file

SCHEMA_VERSION = 8
"""Kept in `PRAGMA user_version`. Raised with each release that adds migrations."""

BUSY_TIMEOUT_S = 10.0
BACKUPS_KEPT = 5
_CORRUPT_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def open_database(path: Path, *, durable: bool = False) -> sqlite3.Connection:
    """Connect in autocommit mode, creating or migrating the schema first where that is needed.

    Args:
        path: The database file, in a folder that exists. It is made with mode 0600 if it is missing.
        durable: Sync to disk on every commit (for changes of state). Otherwise a power cut may lose the last commits,
            never the file.

    Raises:
        StateError: The file is newer than this program, corrupt, or cannot be read or written.
    """
    with explained(path):
        _make_private_file(path)
        connection = _connect(path, durable)
        try:
            _bring_up_to_date(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def back_up(connection: sqlite3.Connection, folder: Path, name: str) -> Path:
    """Copy the whole database as it is now, while others go on using it; the oldest copies are removed.

    Args:
        connection: Any connection to it.
        folder: Where copies lie; it is made if it is missing.
        name: Start of the copy's file name.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = folder / f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{time.time_ns() % 10**9:09d}.sqlite"
    part = copy.with_suffix(".part")
    os.close(os.open(part, os.O_CREAT | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(part)) as target:
            connection.backup(target)
        part.rename(copy)
    finally:
        part.unlink(missing_ok=True)
    for old in sorted(folder.glob(f"{name}-*.sqlite"))[:-BACKUPS_KEPT]:
        old.unlink(missing_ok=True)
    return copy


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system say, while the database at `path` is used, into a `StateError`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explain(error, path) from error
    except OSError as error:
        raise StateError(
            f"cannot use {error.filename or path}: {error.strerror}", "check the folder's owner, rights and space"
        ) from error


def _make_private_file(path: Path) -> None:
    """Make an empty file if there is none, or keep others from the one there is.

    An existing one must never be opened here: closing a second descriptor of a file drops this process's POSIX locks on
    it, and with them the safety of connections that are open elsewhere.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)


def explain(error: sqlite3.DatabaseError, path: Path) -> StateError:
    """What an error of SQLite means for the operator."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _CORRUPT_CODES:
        return StateError(
            f"{path} is damaged ({error}); it was left as it is",
            "run `alula db check` to see what can be saved and `alula db recover` to save it into a new file",
        )
    if code == sqlite3.SQLITE_FULL:
        return StateError(f"no space left for {path}", "free space on that disk; nothing that was stored is lost")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return StateError(f"cannot write {path}: {error}", "check the folder's owner, rights, space and mount options")
    if code == sqlite3.SQLITE_BUSY:
        return StateError(f"{path} has been locked for {BUSY_TIMEOUT_S:.0f} s", "see who holds it: fuser " + str(path))
    return StateError(f"{path}: {error}", "run `alula db check`")


def _connect(path: Path, durable: bool) -> sqlite3.Connection:
    # Each thread has connections of its own; only closing may happen elsewhere.
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if (found := _version(connection)) == SCHEMA_VERSION:
        return
    if found > SCHEMA_VERSION:
        raise StateError(
            f"{path} was written by a newer Alula (schema {found}; this program knows up to {SCHEMA_VERSION})",
            f"upgrade Alula, or move back to a copy in {path.parent / 'backups'}",
        )
    with _migration_lock(path):
        if 0 < (found := _version(connection)) < SCHEMA_VERSION:
            back_up(connection, path.parent / "backups", f"before-schema-{SCHEMA_VERSION}")
        if found < SCHEMA_VERSION:
            _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    with _without_pandas():
        import sqlite_utils  # 0.1 s, and only a new or old database needs it

        from state.migrations import migrations

    # Each step commits with its own record, so an interrupted migration goes on where it stopped.
    migrations.apply(sqlite_utils.Database(connection))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@contextmanager
def _without_pandas() -> Iterator[None]:
    """sqlite-utils imports pandas wherever it is installed: 0.4 s, and 100 MB that the engine would carry for good."""
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]  # makes the import fail
    try:
        yield
    finally:
        del sys.modules["pandas"]


@contextmanager
def _migration_lock(path: Path) -> Iterator[None]:
    import fcntl

    with os.fdopen(private_file(path.parent / "migration.lock", os.O_WRONLY), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
