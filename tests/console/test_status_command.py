"""`alula status` on a busy host and on one without an engine's reading."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from console.command_line.status import read_status
from console.command_line.status_lines import lines, one_line
from engine.lock import take_lock
from state.alerts import raise_alert
from state.database import open_database
from state.folder import StateFolder
from tests.console.seeded import empty, seed
from widgets.figures import count

ROOT = Path(__file__).parents[2]


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[StateFolder]:
    """A busy host whose engine is this process."""
    folder = seed(tmp_path / "state")
    lock = take_lock(folder.path / "engine.lock")
    assert lock is not None
    yield folder
    del lock


def status(folder: StateFolder, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console", "status", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={"ALULA_HOME": str(folder.path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}, check=False,
    )  # fmt: skip


def test_a_busy_host_in_a_few_lines(busy: StateFolder) -> None:
    done = status(busy)
    assert done.returncode == 0, done
    for expected in (
        "gpus    8, busy",
        "accept length 2.",
        "2 open: 1 regen-kimi",
        f"of {count(83_288)}",
        "left ",
        "gpu 3",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout


def test_one_line_fits_a_status_bar(busy: StateFolder) -> None:
    text = status(busy, "--line").stdout
    assert text.count("\n") == 1 and len(text) <= 120
    assert all(word in text for word in ("8 GPU", "accept 2.", "2 jobs", "regen", "1 alert"))


def test_records_for_scripts_and_the_exit_code_of_an_error(busy: StateFolder) -> None:
    with closing(open_database(busy.database_path)) as database:
        raise_alert(
            database, rule="gpu-lost", subject="gpu 1", severity="error", title="GPU 1 is gone", cause="", remedy="",
            now=1.0,
        )  # fmt: skip
    done = status(busy, "--json")
    assert done.returncode == 1
    value = json.loads(done.stdout)
    assert {alert["rule"] for alert in value["alerts"]} == {"gpu-hot", "gpu-lost"} and value["engine_alive"]


def test_an_empty_state_says_what_to_do(tmp_path: Path) -> None:
    with closing(open_database(empty(tmp_path / "state").database_path)) as database:
        found = read_status(database)
    text = "\n".join(lines(found))
    assert "alula engine start" in text and "alula servers add" in text
    assert one_line(found) == "engine down"
