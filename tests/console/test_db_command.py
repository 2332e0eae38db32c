"""`alula db` on a real state folder."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from console.command_line.root import alula
from engine.lock import take_lock
from state.commands import add_command
from state.database import open_database
from state.folder import StateFolder, state_folder
from state.records.commands import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StateFolder:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    folder = state_folder()
    with closing(open_database(folder.database_path)) as database:
        add_command(database, Command(kind="precious", issued_by="me", issued_at=1.0))
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(alula, ["db", *arguments])


def test_path_is_for_scripts(folder: StateFolder) -> None:
    assert run("path").stdout.strip() == str(folder.database_path)
    assert json.loads(run("path", "--json").stdout) == {"path": str(folder.database_path), "notice": None}


def test_a_copy_is_a_whole_database(folder: StateFolder, tmp_path: Path) -> None:
    done = run("backup", "--into", str(tmp_path / "safe"), "--json")
    with closing(sqlite3.connect(json.loads(done.stdout)["path"])) as copy:
        assert copy.execute("SELECT kind FROM command").fetchall() == [("precious",)]
    assert done.exit_code == 0


def test_a_sound_database_passes(folder: StateFolder) -> None:
    assert run("check").exit_code == 0
    assert json.loads(run("check", "--json").stdout)["sound"] is True


def test_damage_exits_1_and_recovery_keeps_the_damaged_file(folder: StateFolder) -> None:
    with closing(sqlite3.connect(folder.database_path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database.execute("PRAGMA page_size").fetchone()[0]
        root = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'alert'").fetchone()[0]
    content = bytearray(folder.database_path.read_bytes())
    content[(root - 1) * size : root * size] = b"\xa5" * size
    folder.database_path.write_bytes(content)

    checked = run("check")
    assert checked.exit_code == 1 and "alert" in checked.output and "alula db recover" in checked.output
    recovered = json.loads(run("recover", "--use", "--json").stdout)
    assert recovered["path"] == str(folder.database_path)
    assert Path(recovered["kept"]).read_bytes() == content
    assert run("check").exit_code == 0
    with closing(open_database(folder.database_path)) as database:
        assert database.execute("SELECT kind FROM command").fetchall() == [("precious",)]


def test_recovery_does_not_pull_the_database_from_under_an_engine(folder: StateFolder) -> None:
    assert take_lock(folder.engine_lock_path) is not None
    refused = run("recover", "--use")
    assert refused.exit_code == 2 and "alula engine stop" in refused.stderr


def test_pruning_drops_old_answers_only(folder: StateFolder) -> None:
    with closing(open_database(folder.database_path)) as database:
        database.execute(
            "INSERT INTO command (kind, arguments, issued_by, issued_at, answered_at, outcome)"
            " VALUES ('old', '{}', 'me', 1.0, 1.0, 'done')"
        )
    assert json.loads(run("prune", "--json").stdout)["commands"] == 1
    with closing(open_database(folder.database_path)) as database:
        assert database.execute("SELECT kind FROM command").fetchall() == [("precious",)]


@pytest.mark.parametrize("command", ["backup", "prune"])
def test_a_file_that_is_no_database_is_told_and_left(folder: StateFolder, command: str) -> None:
    for path in folder.path.glob("alula.sqlite-*"):
        path.unlink()
    folder.database_path.write_text("my diary")
    failed = run(command)
    assert failed.exit_code == 2
    assert "damaged" in failed.stderr and "alula db check" in failed.stderr
    assert folder.database_path.read_text() == "my diary"
