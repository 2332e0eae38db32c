"""What can still be read of a damaged database, and how it is saved into a new file. The damaged one is only read."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from state.errors import StateError

PROBLEMS_SHOWN = 20
_Row = tuple[Any, ...]


class TableCheck(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a table can be read."""

    name: str
    rows: int
    """Rows that can be read."""
    problem: str | None = None
    """What SQLite said where reading stopped; `None` where the table is whole."""


class DatabaseCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a check."""

    sound: bool
    problems: tuple[str, ...]
    """What `PRAGMA integrity_check` and `PRAGMA foreign_key_check` found; at most `PROBLEMS_SHOWN`."""
    tables: tuple[TableCheck, ...]
    """Empty where not even the list of tables can be read."""


def check_database(path: Path) -> DatabaseCheck:
    """Read the whole database, write nothing.

    Raises:
        StateError: There is no such file, or it may not be read.
    """
    with closing(_open_to_read(path)) as source:
        problems = _problems(source)
        tables = tuple(_check_table(source, name) for name in _tables(source))
    sound = not problems and all(table.problem is None for table in tables)
    return DatabaseCheck(sound=sound, problems=problems, tables=tables)


def recover_database(path: Path, into: Path) -> tuple[TableCheck, ...]:
    """Save every row that can be read into a new file of the same schema version.

    Args:
        path: The damaged database. It is not changed.
        into: The new file, which must not exist yet.

    Returns:
        The rows saved, by table; a `problem` says that rows of the table are missing.

    Raises:
        StateError: Nothing can be read, `into` exists, or it cannot be written.
    """
    with closing(_open_to_read(path)) as source:
        names = _tables(source)
        if not names:
            raise StateError(
                f"nothing can be read of {path}", f"go back to a copy in {path.parent / 'backups'}; the file is kept"
            )
        with closing(_create(into)) as target:
            saved = tuple(_copy_table(source, target, name) for name in names)
            _copy_indexes(source, target)
            target.execute(f"PRAGMA user_version = {source.execute('PRAGMA user_version').fetchone()[0]}")
    return saved


def read_rows(source: sqlite3.Connection, table: str) -> Iterator[_Row | sqlite3.DatabaseError]:
    """Every row that can be read; where reading fails, the error once, and then the rows that lie behind the damage.

    Rows are read in the order of the table's key, then from its far end backwards, to where the first pass stopped.
    """
    key = _key(source, table)
    order = ", ".join(f'"{name}"' for name in key)
    backwards = ", ".join(f'"{name}" DESC' for name in key)
    last: _Row | None = None
    try:
        for row in source.execute(f'SELECT {order}, * FROM "{table}" ORDER BY {order}'):
            last = row[: len(key)]
            yield row[len(key) :]
        return
    except sqlite3.DatabaseError as error:
        yield error
    try:
        for row in source.execute(f'SELECT {order}, * FROM "{table}" ORDER BY {backwards}'):
            if last is not None and row[: len(key)] <= last:
                return
            yield row[len(key) :]
    except sqlite3.DatabaseError:
        return


def _open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file() or not os.access(path, os.R_OK):
        raise StateError(f"{path} is not there or may not be read", "see where the state lies: alula db path")
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # Text in a damaged page may not be UTF-8: keep what it is.
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    return connection


def _problems(source: sqlite3.Connection) -> tuple[str, ...]:
    try:
        found = [row[0] for row in source.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})")]
        strays = [f"{table} row {row} refers to a missing row of {parent}"
                  for table, row, parent, _ in source.execute("PRAGMA foreign_key_check")]  # fmt: skip
    except sqlite3.DatabaseError as error:
        return (str(error),)
    return tuple([text for text in found if text != "ok"] + strays)[:PROBLEMS_SHOWN]


def _tables(source: sqlite3.Connection) -> list[str]:
    try:
        names = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    except sqlite3.DatabaseError:
        return []
    return [name for name in names if not name.startswith("sqlite_")]


def _check_table(source: sqlite3.Connection, name: str) -> TableCheck:
    rows, problem = 0, None
    for row in read_rows(source, name):
        if isinstance(row, sqlite3.DatabaseError):
            problem = str(row)
        else:
            rows += 1
    return TableCheck(name=name, rows=rows, problem=problem)


def _key(source: sqlite3.Connection, table: str) -> list[str]:
    columns = source.execute(f'PRAGMA table_info("{table}")').fetchall()
    sql = source.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
    if "WITHOUT ROWID" not in sql.upper():
        return ["rowid"]
    return [name for _, name, _, _, _, place in sorted(columns, key=lambda column: column[5]) if place]


def _create(path: Path) -> sqlite3.Connection:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise StateError(
            f"cannot make {path}: {error.strerror}", "name a new file in a folder you can write"
        ) from error
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, name: str) -> TableCheck:
    sql = source.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [name]).fetchone()[0]
    target.execute(sql)
    rows, problem = 0, None
    target.execute("BEGIN")
    for row in read_rows(source, name):
        if isinstance(row, sqlite3.DatabaseError):
            problem = str(row)
            continue
        try:
            target.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(row))})', row)
            rows += 1
        except sqlite3.IntegrityError as error:
            problem = f"a row was left out: {error}"
    target.execute("COMMIT")
    return TableCheck(name=name, rows=rows, problem=problem)


def _copy_indexes(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    for (sql,) in source.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall():
        target.execute(sql)
