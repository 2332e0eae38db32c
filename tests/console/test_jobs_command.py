"""`alula jobs` and `alula engine` as an operator types them, with a real engine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.limits import LIMIT_S

ROOT = Path(__file__).parents[2]


class Shell:
    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "console", *arguments],
            cwd=ROOT,
            env={**os.environ, "ALULA_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == code, done
        return done.stderr if code == 2 else done.stdout


@pytest.fixture
def alula(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path / "home")
    yield shell
    shell("engine", "stop")


def test_a_job_from_launch_to_retry(alula: Shell) -> None:
    launched = json.loads(alula("jobs", "launch", "--json", "--name", "count", "--env", "N=2", "--", "sh", "-c",
                                'echo "$N $ALULA_JOB_ID"; exit 4'))  # fmt: skip
    assert alula("jobs", "logs", "-f", str(launched["job_id"])) == "2 1\n"
    shown = json.loads(alula("jobs", "show", "1", "--json"))
    assert (shown["job"]["state"], shown["job"]["exit_code"]) == ("failed", 4)
    assert [event["state"] for event in shown["events"]][:2] == ["queued", "starting"]
    assert "exit code 4" in alula("jobs", "show", "1")
    again = json.loads(alula("jobs", "retry", "1", "--json"))["job_id"]
    alula("jobs", "logs", "-f", str(again))
    listed = json.loads(alula("jobs", "list", "--json"))
    assert [(job["id"], job["state"], job["retry_of"]) for job in listed] == [(2, "failed", 1), (1, "failed", None)]


def test_stopping(alula: Shell) -> None:
    alula("jobs", "launch", "--", "sleep", "1000")
    assert "is being stopped" in alula("jobs", "stop", "1")
    alula("jobs", "logs", "-f", "1")
    assert "stopped" in alula("jobs", "list")
    assert "had ended" in alula("jobs", "stop", "1")
    assert json.loads(alula("jobs", "list", "--open", "--json")) == []


def test_what_cannot_be_done_says_why_and_what_to_do(alula: Shell) -> None:
    assert "alula jobs list" in alula("jobs", "show", "7", code=2)
    assert "no job 7" in alula("jobs", "stop", "7", code=2)
    assert json.loads(alula("jobs", "logs", "7", "--json", code=2))["remedy"]
    assert "NAME=VALUE" in alula("jobs", "launch", "--env", "x", "--", "true", code=2)


def test_escape_sequences_in_names_do_not_reach_the_terminal(alula: Shell) -> None:
    alula("jobs", "launch", "--name", "evil\x1b]0;title\x07\x1b[2J", "--", "printf", "\\033[2Jx")
    assert alula("jobs", "logs", "-f", "1") == "x\n"
    assert "\x1b" not in alula("jobs", "list") + alula("jobs", "show", "1")


def test_engine_status_start_stop(alula: Shell) -> None:
    assert "no engine runs" in alula("engine", "status", code=1)
    pid = json.loads(alula("engine", "start", "--json"))["pid"]
    assert json.loads(alula("engine", "start", "--json"))["pid"] == pid
    status = json.loads(alula("engine", "status", "--json"))
    assert status["running"] and status["engine"]["pid"] == pid
    deadline = time.monotonic() + LIMIT_S
    while not {"commands", "jobs", "heartbeat"} <= {part["name"] for part in status["parts"]}:
        assert time.monotonic() < deadline, status["parts"]
        status = json.loads(alula("engine", "status", "--json"))
    assert "another engine runs" in alula("engine", "run", code=2)
    assert "has stopped" in alula("engine", "stop")
    assert "no engine runs" in alula("engine", "stop")


def test_the_unit_is_printed_or_written(alula: Shell) -> None:
    text = alula("engine", "install", "--print")
    assert f'Environment="ALULA_HOME={alula.home}"' in text and "KillMode=process" in text
    assert not (alula.home / "config").exists()
    said = alula("engine", "install")
    assert "systemctl --user enable --now alula-engine.service" in said and "alula engine stop" in said
    assert (alula.home / "config/systemd/user/alula-engine.service").read_text() == text


def test_listing_imports_nothing_heavy(alula: Shell) -> None:
    code = """
import sys
from click.testing import CliRunner
from console.command_line.root import alula
assert CliRunner().invoke(alula, ["jobs", "list"]).exit_code == 0
print(sorted({"textual", "rich", "httpx", "aiohttp", "numpy", "sqlite_utils", "psutil", "torch"} & set(sys.modules)))
"""
    alula("jobs", "list")  # makes the database
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "ALULA_HOME": str(alula.home)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
