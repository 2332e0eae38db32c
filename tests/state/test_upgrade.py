"""Every schema that was ever in use becomes this one, with all that it held."""

import copy
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils

import state.migrations
from state.commands import add_command, read_command
from state.database import SCHEMA_VERSION, open_database
from state.records.commands import Command

STEPS_OF_VERSION_1 = 8
ROOT = Path(__file__).parents[2]


def steps() -> list[Any]:
    return list(state.migrations.migrations._migrations)


def database_of(version: int, path: Path) -> None:
    """A database as the release with that schema left it."""
    early = copy.deepcopy(state.migrations.migrations)
    del early._migrations[STEPS_OF_VERSION_1 + version - 1 :]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        early.apply(sqlite_utils.Database(database))
        database.execute("PRAGMA journal_mode = wal")
        database.execute(f"PRAGMA user_version = {version}")
        database.execute(
            "INSERT INTO command (kind, arguments, issued_by, issued_at) VALUES ('jobs.stop', '{}', 'me', 1.0)"
        )
        database.execute(
            "INSERT INTO job (name, kind, state, argv, working_dir, environment, run_folder, grace_s, created_at)"
            " VALUES ('night', 'command', 'running', '[\"sleep\",\"9\"]', '/', '{}', '/tmp/none', 10, 1.0)"
        )


def test_each_step_raises_the_version() -> None:
    assert len(steps()) == STEPS_OF_VERSION_1 + SCHEMA_VERSION - 1, "raise SCHEMA_VERSION with each new migration"


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_each_earlier_schema_is_brought_up_to_date(version: int, tmp_path: Path) -> None:
    from state.jobs import read_jobs

    path, fresh = tmp_path / "alula.sqlite", tmp_path / "fresh.sqlite"
    database_of(version, path)
    with closing(open_database(path)) as database, closing(open_database(fresh)) as new:
        command = read_command(database, 1)
        assert command is not None and command.kind == "jobs.stop"
        assert [job.argv for job in read_jobs(database, 10)] == [("sleep", "9")]
        tables = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        assert database.execute(tables).fetchall() == new.execute(tables).fetchall()
        add_command(database, Command(kind="more", issued_by="me", issued_at=2.0))


@pytest.mark.parametrize("stop_after", range(1, SCHEMA_VERSION))
def test_one_that_was_killed_between_two_steps_goes_on(stop_after: int, tmp_path: Path) -> None:
    path = tmp_path / "alula.sqlite"
    database_of(1, path)
    code = (
        "import os, sys, pathlib, state.database, state.migrations\n"
        "steps = state.migrations.migrations._migrations\n"
        f"steps[{STEPS_OF_VERSION_1 + stop_after - 1}].fn = lambda db: os.kill(os.getpid(), 9)\n"
        "state.database.open_database(pathlib.Path(sys.argv[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT).returncode == -9
    with closing(open_database(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert read_command(database, 1) is not None
