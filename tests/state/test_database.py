"""Opening the database: settings, migrations, and a clear word where it cannot be had."""

import copy
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import state.database
import state.migrations
from state.commands import add_command
from state.database import SCHEMA_VERSION, back_up, open_database
from state.errors import StateError
from state.records.commands import Command

COMMAND = Command(kind="precious", issued_by="me", issued_at=1.0)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "alula.sqlite"


@pytest.fixture
def old(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A database of this version with one command in it, and a program that is one version on; gives its migrations."""
    with closing(open_database(path)) as database:
        add_command(database, COMMAND)
    newer = copy.deepcopy(state.migrations.migrations)
    monkeypatch.setattr(state.migrations, "migrations", newer)
    monkeypatch.setattr(state.database, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    yield newer


def kinds(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [row[0] for row in database.execute("SELECT kind FROM command")]


def test_settings(path: Path) -> None:
    with closing(open_database(path, durable=True)) as database:

        def setting(name: str) -> Any:
            return database.execute(f"PRAGMA {name}").fetchone()[0]

        assert setting("journal_mode") == "wal" and setting("foreign_keys") == 1
        assert setting("synchronous") == 2 and setting("busy_timeout") >= 5000
        add_command(database, COMMAND)
        for file in path.parent.glob("alula.sqlite*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    with closing(open_database(path)) as database:
        assert database.execute("PRAGMA synchronous").fetchone()[0] == 1


def test_many_openers_make_the_schema_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for database in pool.map(lambda _: open_database(path), range(16)):
            with closing(database):
                add_command(database, COMMAND)
    assert len(kinds(path)) == 16


def test_processes_that_open_it_at_once_make_the_schema_once(path: Path) -> None:
    code = "import sys, pathlib, state.database; state.database.open_database(pathlib.Path(sys.argv[1]))"
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=ROOT) for _ in range(4)]
    assert [process.wait() for process in running] == [0, 0, 0, 0]


def test_an_old_one_is_migrated_after_a_copy(path: Path, old: Any) -> None:
    @old()
    def add_colour(db: Any) -> None:
        db.execute("ALTER TABLE command ADD COLUMN colour TEXT")

    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(lambda _: open_database(path), range(4)):
            with closing(database):
                assert database.execute("SELECT kind, colour FROM command").fetchall() == [("precious", None)]
    (backup,) = (path.parent / "backups").glob("*.sqlite")
    assert kinds(backup) == ["precious"]
    with closing(sqlite3.connect(backup)) as database:
        assert database.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION


def test_a_migration_that_fails_leaves_the_old_one_as_it_was(path: Path, old: Any) -> None:
    broken = True

    @old()
    def add_colour(db: Any) -> None:
        db.execute("ALTER TABLE command ADD COLUMN colour TEXT")
        db.execute("DELETE FROM command")
        if broken:
            raise RuntimeError("power cut")
        db.execute("INSERT INTO command (kind, arguments, issued_by, issued_at) VALUES ('new', '{}', 'me', 1.0)")

    with pytest.raises(RuntimeError):
        open_database(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
        assert "colour" not in [row[1] for row in database.execute("PRAGMA table_info(command)")]
    assert kinds(path) == ["precious"]
    broken = False
    open_database(path).close()
    assert kinds(path) == ["new"]


def test_a_newer_one_is_refused_and_left(path: Path) -> None:
    with closing(open_database(path)) as database:
        add_command(database, COMMAND)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StateError, match="newer Alula") as refused:
        open_database(path)
    assert "upgrade" in refused.value.remedy
    assert kinds(path) == ["precious"]


def test_copies_are_whole_private_and_few(path: Path) -> None:
    with closing(open_database(path)) as database:
        add_command(database, COMMAND)
        copies = [back_up(database, path.parent / "backups", "mine") for _ in range(state.database.BACKUPS_KEPT + 2)]
    kept = sorted((path.parent / "backups").iterdir())
    assert kept == sorted(copies[2:])
    assert all(kinds(file) == ["precious"] and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in kept)


def test_rights_of_others_on_the_file_are_taken_away(path: Path) -> None:
    open_database(path).close()
    path.chmod(0o664)
    open_database(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StateError) as told:
        open_database(path)
    assert str(path) in str(told.value) and told.value.remedy


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_is_told_and_what_was_stored_stays(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        path = disk / "alula.sqlite"
        with closing(open_database(path, durable=True)) as database:
            with pytest.raises(sqlite3.DatabaseError) as full:
                for _ in range(1000):
                    add_command(
                        database, Command(kind="fill", arguments={"x": "y" * 4000}, issued_by="", issued_at=1.0)
                    )
            told = state.database.explain(full.value, path)
            assert "no space left" in str(told) or "cannot write" in str(told)
            stored = len(kinds(path))
        subprocess.run(["mount", "-o", "remount,size=4M", str(disk)], check=True)
        with closing(open_database(path, durable=True)) as database:
            add_command(database, COMMAND)
            assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert len(kinds(path)) == stored + 1 > 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)
