"""The systemd user unit."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.systemd import UNIT_NAME, unit_text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
@pytest.mark.parametrize("name", ["plain", "with space", "100%", 'quo"te', "$HOME"])
def test_systemd_accepts_the_unit(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    unit = tmp_path / UNIT_NAME
    unit.write_text(unit_text(root, Path(__file__).parents[2], sys.executable))
    checked = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    about_it = [line for line in checked.stderr.splitlines() if UNIT_NAME in line]
    assert about_it == [] and "ALULA_HOME=" in unit.read_text()
