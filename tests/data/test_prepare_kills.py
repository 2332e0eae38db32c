"""A preparation that is killed, stopped, or whose files change, in real processes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.data.made import edited, output_bytes, prompt, write_jsonl, write_plan
from tests.limits import LIMIT_S

PLAN = 'name = "t"\ntotal = 9000\n[output]\nshard_rows = 500\n[[source]]\nname = "a"\npath = "a.jsonl.gz"\nweight = 1\n'


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import gzip

    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    source = random.Random(6)
    texts = [prompt(source, 15) for _ in range(9000)]
    rows = [{"prompt": text} for text in texts] + [{"prompt": edited(source, text)} for text in texts[:1000]]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return write_plan(tmp_path, PLAN)


def start(plan: Path, output: str, workers: int = 1) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "console", "data", "prepare", str(plan), "--here", "--workers", str(workers)]
    return subprocess.Popen(
        [*command, "--output", str(plan.parent / output)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(plan: Path, output: str) -> dict[str, bytes]:
    process = start(plan, output)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said.decode()
    return output_bytes(plan.parent / output)


def wait_until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_killed_at_every_stage_it_ends_with_the_same_bytes(plan: Path) -> None:
    whole = finish(plan, "whole")
    folder = plan.parent / "killed"
    stages: list[Callable[[], bool]] = [
        lambda: (folder / "work/source-000.json").exists(),
        lambda: len(list((folder / "work").glob("000-*.json"))) >= 2,
        lambda: len(list((folder / "work").glob("000-*.json"))) >= 5,
        lambda: len(list(folder.glob("data-*.jsonl"))) >= 1,
        lambda: len(list(folder.glob("data-*.jsonl"))) >= 9,
    ]
    for stage in stages:
        process = start(plan, "killed")
        wait_until(stage, process)
        process.kill()
        process.communicate()
        assert not (folder / "manifest.json").exists()
    assert finish(plan, "killed") == whole


def test_a_polite_stop_is_said_and_workers_go_too(plan: Path) -> None:
    process = start(plan, "out", workers=2)
    wait_until(lambda: bool(list((plan.parent / "out/work").glob("000-*.json"))), process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode in (0, 4), said.decode()
    if process.returncode == 4:
        assert "stopped" in said.decode()


def test_no_worker_outlives_a_killed_preparation(plan: Path) -> None:
    process = start(plan, "out", workers=2)
    wait_until(lambda: len(psutil.Process(process.pid).children(recursive=True)) >= 2, process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=LIMIT_S)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(("policy", "code"), [("stop", 2), ("restart", 0)])
def test_a_file_that_changes_under_us(plan: Path, policy: str, code: int) -> None:
    plan.write_text(PLAN.replace("[output]", f'[faults]\nchanged = "{policy}"\n[output]'))
    process = start(plan, "out")
    wait_until(lambda: bool(list((plan.parent / "out/work").glob("000-*.json"))), process)
    process.kill()
    process.communicate()
    source = plan.parent / "a.jsonl.gz"
    os.utime(source, (1, 1))
    again = start(plan, "out")
    _, said = again.communicate(timeout=LIMIT_S)
    assert again.returncode == code, said.decode()
    if code == 2:
        assert "has changed since the preparation began" in said.decode()
