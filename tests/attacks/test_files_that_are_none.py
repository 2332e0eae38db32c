"""Files that an operator names by a slip: a device, a pipe, far too much, no text. Each is refused in words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from state.outside_file import MOST_BYTES
from tests.benchmarks.subjects import ROOT

COMMANDS = ("campaign start {}", "bench sweep {}", "data prepare {} --output out --here", "data search --scouts {}",
            "train forecast {}", "check {}")  # fmt: skip
LARGE_ONES = ("regen start {} --server http://127.0.0.1:9", "bench run --server http://127.0.0.1:9 --prompts {} --here",
              "engine run --replay {}")  # fmt: skip
"""What these read may be of any size."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["device", "pipe", "large", "bytes", "deep-toml", "deep-json"])
def test_it_is_refused(kind: str, command: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path)
    words = command.format(path).split()
    environment = os.environ | {"ALULA_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "console", *words], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert path.name in done.stdout + done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", LARGE_ONES)
@pytest.mark.parametrize("kind", ["device", "pipe", "bytes"])
def test_it_is_refused_where_any_size_may_be(kind: str, command: str, tmp_path: Path) -> None:
    test_it_is_refused(kind, command, tmp_path)


def made(kind: str, folder: Path) -> Path:
    if kind == "device":
        return Path("/dev/zero")
    path = folder / "f.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(8 * MOST_BYTES)
    elif kind.startswith("deep"):
        path.write_text("a = " * (kind == "deep-toml") + "[" * 100_000)
    else:
        path.write_bytes(b'name = "\xff"\n')
    return path
