"""The cases that lie beside the checkout, run as their own script runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@pytest.mark.skipif(not (SHARED / "run_cases.py").is_file(), reason="no cases beside this checkout")
def test_all_shared_cases_pass() -> None:
    command = [
        sys.executable,
        str(SHARED / "run_cases.py"),
        "--alula",
        f"{sys.executable} -m console",
        str(SHARED / "cases"),
    ]
    done = subprocess.run(command, cwd=SHARED.parent, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout
