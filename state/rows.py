"""Rows of SQLite to typed records and back. Fields that SQLite has no type for are kept as JSON text."""

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec
from msgspec.structs import FieldInfo, fields

from state.errors import StateError

Record = TypeVar("Record", bound=msgspec.Struct)


def read(
    connection: sqlite3.Connection, record: type[Record], sql: str, parameters: Sequence[Any] = ()
) -> list[Record]:
    """Run a query whose columns are fields of `record`.

    Raises:
        StateError: A column does not hold what the field is declared to be: another release wrote it, or it is damaged.
    """
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description]
    found = []
    for row in cursor:
        values = dict(zip(names, row, strict=True))
        try:
            found.append(_decode(record, values))
        except (msgspec.DecodeError, RecursionError) as error:
            raise _unreadable(connection, record, values, error) from error
    return found


def read_one(
    connection: sqlite3.Connection, record: type[Record], sql: str, parameters: Sequence[Any] = ()
) -> Record | None:
    """The first row of a query, or `None`."""
    rows = read(connection, record, sql, parameters)
    return rows[0] if rows else None


def insert(connection: sqlite3.Connection, table: str, record: msgspec.Struct) -> int:
    """Add a record. An `id` of 0 is given by SQLite. Returns the row's id."""
    row = _encode(record)
    if row.get("id") == 0:
        del row["id"]
    return _run_insert(connection, "INSERT", table, row)


def replace(connection: sqlite3.Connection, table: str, record: msgspec.Struct) -> int:
    """Add a record, or put it in the place of the one with the same key."""
    return _run_insert(connection, "INSERT OR REPLACE", table, _encode(record))


def update(connection: sqlite3.Connection, table: str, row_id: int, **changes: object) -> None:
    """Change some columns of the row with this `id`."""
    assignments = ", ".join(f'"{name}" = ?' for name in changes)
    values = [_plain(value) for value in changes.values()]
    connection.execute(f"UPDATE {table} SET {assignments} WHERE id = ?", [*values, row_id])


def _run_insert(connection: sqlite3.Connection, verb: str, table: str, row: dict[str, Any]) -> int:
    columns, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    cursor = connection.execute(f"{verb} INTO {table} ({columns}) VALUES ({marks})", list(row.values()))
    return int(cursor.lastrowid or 0)


def _encode(record: msgspec.Struct) -> dict[str, Any]:
    return {field.name: _plain(getattr(record, field.name)) for field in _fields(type(record))}


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (str, int, float)) else msgspec.json.encode(value).decode()


def _decode(record: type[Record], row: dict[str, Any]) -> Record:
    for name in _json_fields(record):
        if isinstance(row.get(name), str):
            try:
                row[name] = msgspec.json.decode(row[name])
            except (msgspec.DecodeError, RecursionError) as error:
                raise msgspec.DecodeError(f"{error} - at `$.{name}`") from error
    return msgspec.convert(row, record, strict=False)


def _unreadable(
    connection: sqlite3.Connection, record: type[msgspec.Struct], row: dict[str, Any], error: Exception
) -> StateError:
    path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", record.__name__).lower()
    which = f" {row['id']}" if "id" in row else ""
    return StateError(
        f"{kind}{which} in {path} cannot be read: {error}",
        f"use the release of Alula that wrote it, or go back to a copy in {path.parent / 'backups'}",
    )


@lru_cache
def _fields(record: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    return fields(record)


@lru_cache
def _json_fields(record: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record) if get_origin(f.type) in (dict, tuple, list) or _is_record(f.type))


def _is_record(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
