"""The whole demonstration in small, as a stranger runs it who has no torch."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORDS = [sys.executable, "-m", "console", "demo", "--small", "--json"]


def kill_in_its_campaign(folder: Path, limit_s: float) -> None:
    """Start a demonstration, and kill it where its campaign has begun; engine and jobs live on."""
    demo = subprocess.Popen(WORDS, env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + limit_s
        while not list(folder.glob("alula-demo-*/fault.json")):
            assert time.monotonic() < deadline and demo.poll() is None
            time.sleep(0.05)
    finally:
        demo.kill()
        demo.wait(60)


def run_demo(folder: Path, limit_s: float) -> "subprocess.CompletedProcess[str]":
    demo = subprocess.Popen(
        WORDS, env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        said, errors = demo.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        demo.terminate()  # it stops its servers and its engine
        said, errors = demo.communicate(timeout=60)
        raise AssertionError(f"not within {limit_s:.0f} s: {said[-500:]} {errors[-500:]}") from None
    return subprocess.CompletedProcess(WORDS, demo.returncode, said, errors)


@pytest.mark.timeout(900)
def test_fault_fix_and_campaign_end_in_a_report_though_killed_between(tmp_path: Path) -> None:
    kill_in_its_campaign(tmp_path, 300)
    (folder,) = tmp_path.iterdir()
    done = run_demo(tmp_path, 500)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["accept_length_eagle"] < 1.2 < 1.3 < report["accept_length_eagle3"]
    assert report["finding"] == "eagle-flag-on-eagle3-draft"
    assert report["answered"] == 70 and report["failed"] == 0
    names = [one["name"] for one in report["configurations"]]
    assert {"before: eagle-flag-s3", "before: present-s3"} <= set(names)
    assert report["forecast"]["points"] and report["outlook"] and report["proposal"]
    assert not folder.exists() and list(tmp_path.iterdir()) == [], "the state folder is thrown away"


@pytest.mark.train
@pytest.mark.timeout(1000)
def test_the_trained_draft_beats_the_untrained_one_and_the_wrong_flag(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run_demo(tmp_path, 900)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["trained"] is True
    assert report["trained_accept_length"] > report["untrained_accept_length"] + 0.05
    assert report["forecast"].get("source") == "measured" or "refused" in report["forecast"]
