"""The whole demonstration, as a stranger runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_shows_the_fault_the_fix_and_a_complete_regeneration(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "console", "demo", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["accept_length_eagle"] < 1.05
    assert summary["accept_length_eagle3"] > 1.6
    assert summary["finding"] == "eagle-flag-on-eagle3-draft"
    assert (summary["answered"], summary["failed"]) == (300, 0)
    assert list(tmp_path.iterdir()) == [], "the state folder is thrown away"
