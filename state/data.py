"""Searches and preparations of training data in the database, and answers of the hub that are kept."""

import sqlite3

from state import rows
from state.records.data import DataPreparation, DataSearch, ScoutProgress


def add_search(connection: sqlite3.Connection, search: DataSearch) -> int:
    """Add a search; returns its id."""
    return rows.insert(connection, "data_search", search)


def update_search(connection: sqlite3.Connection, search_id: int, **changes: object) -> None:
    """Change some fields of a search."""
    rows.update(connection, "data_search", search_id, **changes)


def read_searches(connection: sqlite3.Connection) -> list[DataSearch]:
    """All searches, the newest first."""
    return rows.read(connection, DataSearch, "SELECT * FROM data_search ORDER BY id DESC")


def find_search(connection: sqlite3.Connection, name: str | None) -> DataSearch | None:
    """The newest search of a name; of any name where none is given."""
    sql = "SELECT * FROM data_search WHERE ?1 IS NULL OR name = ?1 ORDER BY id DESC LIMIT 1"
    return rows.read_one(connection, DataSearch, sql, [name])


def write_scout(connection: sqlite3.Connection, progress: ScoutProgress) -> None:
    """Say how one scout stands."""
    rows.replace(connection, "data_scout", progress)


def read_scouts(connection: sqlite3.Connection, search_id: int) -> list[ScoutProgress]:
    """The scouts of a search, by name."""
    sql = "SELECT * FROM data_scout WHERE search_id = ? ORDER BY scout"
    return rows.read(connection, ScoutProgress, sql, [search_id])


def add_preparation(connection: sqlite3.Connection, preparation: DataPreparation) -> int:
    """Add a preparation; returns its id."""
    return rows.insert(connection, "data_preparation", preparation)


def update_preparation(connection: sqlite3.Connection, preparation_id: int, **changes: object) -> None:
    """Change some fields of a preparation."""
    rows.update(connection, "data_preparation", preparation_id, **changes)


def read_preparations(connection: sqlite3.Connection) -> list[DataPreparation]:
    """All preparations, the newest first."""
    return rows.read(connection, DataPreparation, "SELECT * FROM data_preparation ORDER BY id DESC")


def preparation_of(connection: sqlite3.Connection, run_folder: str) -> DataPreparation | None:
    """The preparation that works in a folder."""
    sql = "SELECT * FROM data_preparation WHERE run_folder = ? ORDER BY id DESC LIMIT 1"
    return rows.read_one(connection, DataPreparation, sql, [run_folder])


def kept_answer(connection: sqlite3.Connection, question: str) -> tuple[str, float] | None:
    """What the hub answered to a question, and when."""
    row = connection.execute("SELECT answer, asked_at FROM hub_answer WHERE question = ?", [question]).fetchone()
    return (str(row[0]), float(row[1])) if row else None


def keep_answer(connection: sqlite3.Connection, question: str, answer: str, asked_at: float) -> None:
    """Keep what the hub answered."""
    connection.execute("INSERT OR REPLACE INTO hub_answer VALUES (?, ?, ?)", [question, answer, asked_at])
