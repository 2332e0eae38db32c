"""The engine as a systemd user unit, for hosts where it should run without anybody logged in."""

import getpass
import os
import sys
from pathlib import Path

UNIT_NAME = "alula-engine.service"
_LINGER = Path("/var/lib/systemd/linger")
"""One empty file for each user whose units run without a login (`loginctl enable-linger`)."""


def unit_text(state_path: Path, program_root: Path, python: str = sys.executable) -> str:
    """The unit file.

    `KillMode=process` leaves the runners and their jobs alone when the engine stops or restarts.
    """
    return f"""[Unit]
Description=Alula engine for {_escape(str(state_path))}

[Service]
ExecStart={_quote(python.replace("$", "$$"))} -m engine.daemon
WorkingDirectory={_escape(str(program_root))}
Environment={_quote(f"ALULA_HOME={state_path}")}
Restart=on-failure
RestartSec=2
KillMode=process

[Install]
WantedBy=default.target
"""


def unit_path() -> Path:
    """Where systemd looks for a user's own units (systemd.unit(5))."""
    configuration = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(configuration) / "systemd" / "user" / UNIT_NAME


def write_unit(text: str) -> Path:
    """Put the unit in its place; returns where.

    Raises:
        OSError: It cannot be written.
    """
    path = unit_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
    return path


def next_steps() -> list[str]:
    """Commands that the operator has to run after the unit is written. Lingering only where it is not on yet."""
    steps = ["alula engine stop", "systemctl --user daemon-reload", f"systemctl --user enable --now {UNIT_NAME}"]
    if not _lingers():
        steps.append("loginctl enable-linger")
    return steps


def _lingers() -> bool:
    try:
        return (_LINGER / getpass.getuser()).exists()
    except (KeyError, OSError):
        return False


def _escape(text: str) -> str:
    return text.replace("%", "%%")


def _quote(text: str) -> str:
    """One word for systemd, which reads `%`, quotes and backslashes in it (systemd.syntax(7))."""
    escaped = _escape(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
