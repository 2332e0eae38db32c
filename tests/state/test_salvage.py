"""A damaged database: what is wrong is said, what can be read is saved, and the file itself is left as it is."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from state.commands import add_command
from state.database import open_database
from state.errors import StateError
from state.jobs import add_job, read_jobs
from state.records.commands import Command
from state.records.jobs import Job
from state.salvage import check_database, recover_database

ROWS = 500


@pytest.fixture
def database_path(tmp_path: Path) -> Path:
    path = tmp_path / "alula.sqlite"
    with closing(open_database(path)) as database:
        for number in range(ROWS):
            add_command(
                database,
                Command(kind=f"kind-{number}", arguments={"text": "x" * 200}, issued_by="me", issued_at=time.time()),
            )
        add_job(
            database, Job(name="a", kind="command", argv=("true",), working_dir="/", run_folder="/r", created_at=1.0)
        )
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def damage(path: Path, table: str) -> bytes:
    """Overwrite a page in the middle of a table; returns the file as it is then."""
    with closing(sqlite3.connect(path)) as database:
        size = database.execute("PRAGMA page_size").fetchone()[0]
        kind = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
    content = bytearray(path.read_bytes())
    root = content[(kind - 1) * size : kind * size]
    assert root[0] == 5, "the table needs several pages"
    cells = int.from_bytes(root[3:5])
    cell = int.from_bytes(root[12 + 2 * (cells // 2) : 14 + 2 * (cells // 2)])
    child = int.from_bytes(root[cell : cell + 4])
    content[(child - 1) * size : child * size] = b"\xa5" * size
    path.write_bytes(content)
    return bytes(content)


def test_a_sound_database_is_sound(database_path: Path) -> None:
    check = check_database(database_path)
    assert check.sound and check.problems == ()
    assert {table.name: table.rows for table in check.tables}["command"] == ROWS


def test_damage_is_told_and_rows_on_both_sides_of_it_are_saved(database_path: Path) -> None:
    damaged = damage(database_path, "command")
    check = check_database(database_path)
    assert not check.sound and check.problems
    readable = {table.name: table for table in check.tables}["command"]
    assert readable.problem and 0.8 * ROWS < readable.rows < ROWS

    into = database_path.with_name("saved.sqlite")
    saved = {table.name: table for table in recover_database(database_path, into)}
    assert saved["command"].rows == readable.rows
    with closing(open_database(into)) as database:
        kinds = [row[0] for row in database.execute("SELECT kind FROM command")]
        assert "kind-0" in kinds and f"kind-{ROWS - 1}" in kinds
        assert len(set(kinds)) == len(kinds) == saved["command"].rows
        assert [job.name for job in read_jobs(database)] == ["a"]
        add_command(database, Command(kind="new", issued_by="me", issued_at=1.0))
    assert check_database(into).sound
    assert into.stat().st_mode & 0o777 == 0o600
    assert database_path.read_bytes() == damaged


def test_a_damaged_database_is_not_overwritten_by_opening_it(database_path: Path) -> None:
    database_path.write_bytes(b"not a database, but somebody's data " * 1000)
    before = database_path.read_bytes()
    with pytest.raises(StateError, match="damaged"):
        open_database(database_path)
    assert database_path.read_bytes() == before
    assert not check_database(database_path).sound
    with pytest.raises(StateError, match="nothing can be read"):
        recover_database(database_path, database_path.with_name("saved.sqlite"))
    assert not database_path.with_name("saved.sqlite").exists()


def test_a_file_that_exists_is_never_taken_for_the_copy(database_path: Path) -> None:
    precious = database_path.with_name("precious.sqlite")
    precious.write_text("precious")
    with pytest.raises(StateError, match="cannot make"):
        recover_database(database_path, precious)
    assert precious.read_text() == "precious"


def test_nothing_to_check(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="not there"):
        check_database(tmp_path / "none.sqlite")
