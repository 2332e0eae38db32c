"""What the doctor finds, and that each remedy stands beside its fault."""

import json
import os
import pty
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine.doctor.engine_process import failing, judge_engine
from engine.doctor.serving import interpreters, port, sglang_of
from engine.doctor.software import packages
from engine.doctor.storage import room_of
from engine.doctor.terminal import Terminal, examine_terminal
from state.folder import StateFolder
from state.records.engine import Engine, EnginePart
from state.version import VERSION

ROOT = Path(__file__).parents[2]
ENGINE = Engine(pid=7, pid_started_at=1.0, boot_id="b", version=VERSION, started_at=1.0, heartbeat_at=100.0)


def doctor(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "console", "doctor", *arguments],
        cwd=ROOT,
        env={**os.environ, "ALULA_HOME": str(home), "ALULA_CONFIG_HOME": str(home / "config"), **environment},
        capture_output=True,
        text=True,
    )


def named(home: Path, name: str) -> dict[str, Any]:
    found = {entry["name"]: entry for entry in json.loads(doctor(home, "--json").stdout)}
    return dict(found[name])


def terminal(**known: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "is_terminal": True,
        "size": (120, 40),
        "encoding": "utf-8",
        "environment": {"TERM": "xterm-256color"},
    }
    return {found.name: found for found in examine_terminal(Terminal(**{**usual, **known}))}


def test_a_sound_machine(tmp_path: Path) -> None:
    said = doctor(tmp_path / "home")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "nothing keeps Alula from working" in said.stdout
    assert max(len(line) for line in said.stdout.splitlines()) <= 80


def test_a_damaged_database_is_told_with_the_command_that_helps(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "alula.sqlite").write_bytes(b"rubbish" * 1000)
    assert named(home, "database")["verdict"] == "problem"
    assert "alula db" in named(home, "database")["remedy"]
    assert doctor(home).returncode == 1


def test_broken_settings_are_told_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("[notify]\nwebhok = 'x'\n")
    found = named(tmp_path, "settings")
    assert found["verdict"] == "problem" and "webhok" in found["found"] and "settings.toml" in found["found"]


def test_a_folder_that_cannot_be_made_leaves_the_rest(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = json.loads(doctor(tmp_path / "file", "--json").stdout)
    assert [entry["verdict"] for entry in said if entry["name"] == "folder"] == ["problem"]
    assert {"GPUs", "Serving", "Software"} <= {entry["area"] for entry in said}


def test_terminals() -> None:
    assert {found.verdict for found in terminal().values()} == {"good"}
    assert terminal(environment={"TERM": "dumb"})["kind"].verdict == "problem"
    assert terminal(size=(60, 20))["size"].verdict == "note"
    assert "ALULA_ASCII" in terminal(encoding="ANSI_X3.4-1968")["characters"].remedy
    assert terminal(environment={"TERM": "linux"})["colours"].verdict == "note"
    assert terminal(environment={"TERM": "linux", "NO_COLOR": "1"})["colours"].verdict == "good"
    bare = {"TERM": "xterm-256color", "SSH_CONNECTION": "a 1 b 2"}
    assert "tmux" in terminal(environment=bare)["SSH"].remedy
    slow = terminal(
        environment={**bare, "TMUX": "/tmp/x,1,0"}, tmux_options={"escape-time": "500", "set-clipboard": "off"}
    )
    assert slow["tmux escape-time"].verdict == slow["tmux set-clipboard"].verdict == "note"
    assert slow["SSH"].verdict == "good"


def test_in_a_real_terminal(tmp_path: Path) -> None:
    main, other = pty.openpty()
    environment = {**os.environ, "ALULA_HOME": str(tmp_path), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    environment.pop("TMUX", None)
    child = subprocess.Popen(
        [sys.executable, "-m", "console", "doctor"], cwd=ROOT, env=environment, stdout=other, stderr=other
    )
    os.close(other)
    said = b""
    while chunk := _read(main):
        said += chunk
    assert child.wait() == 0
    assert b"TERM is xterm-256color" in said


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize(
    ("free_bytes", "inodes", "verdict"),
    [(50 << 30, None, "good"), (50 << 30, 5, "problem"), (1 << 30, 10**6, "problem"), (50 << 30, 10**6, "good")],
)
def test_room(free_bytes: int, inodes: int | None, verdict: str) -> None:
    assert room_of(Path("/x"), free_bytes, inodes).verdict == verdict


def test_engines(tmp_path: Path) -> None:
    folder = StateFolder(path=tmp_path)
    assert judge_engine(folder, None, False, 0.0).remedy == "alula engine start"
    assert judge_engine(folder, ENGINE, True, 101.0).verdict == "good"
    assert "kill -9 7" in judge_engine(folder, ENGINE, True, 200.0).remedy
    older = Engine(pid=7, pid_started_at=1.0, boot_id="b", version="0.0.1", started_at=1.0, heartbeat_at=100.0)
    assert "0.0.1" in judge_engine(folder, older, True, 101.0).found
    part = EnginePart(name="gpus", state="backing_off", since=time.time(), restarts=3, last_error="no\x1b[2J luck")
    (told,) = failing([part])
    assert told.verdict == "problem" and "\x1b" not in told.found


def test_packages() -> None:
    assert packages().verdict == "good"
    assert packages("no-such-distribution").verdict == "note"


def test_sglang_is_found_without_running_anything(tmp_path: Path) -> None:
    interpreter = tmp_path / "serving" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "serving/lib/python3.12/site-packages/sglang-0.5.23.dist-info").mkdir(parents=True)
    found = sglang_of(interpreters({"VIRTUAL_ENV": str(tmp_path / "serving")}))
    assert found.verdict == "good" and "0.5.23" in found.found
    assert sglang_of([]).verdict == "note"


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        number = listening.getsockname()[1]
        assert port(number, expected=False).verdict == "note"
        assert port(number, expected=True).verdict == "good"
    assert port(number, expected=False).verdict == "good"
