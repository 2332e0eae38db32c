"""The terminal: its kind, size, colours, characters, and what lies between it and the operator."""

import os
import subprocess
from collections.abc import Mapping

import msgspec

from engine.doctor.records import Examination

AREA = "Terminal"
SMALLEST = (80, 24)
SLOW_ESCAPE_MS = 100
TMUX_LIMIT_S = 2.0


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the terminal."""

    is_terminal: bool
    """Whether standard output is one."""
    size: tuple[int, int] | None
    """Columns and rows."""
    encoding: str
    """Of standard output."""
    environment: Mapping[str, str]
    tmux_options: Mapping[str, str] = {}
    """Options of the tmux server around it; empty outside tmux."""


def examine_terminal(terminal: Terminal) -> list[Examination]:
    """Everything about it that a console depends on."""
    if not terminal.is_terminal:
        return [Examination(AREA, "terminal", "note", "standard output is not a terminal", "run it in one to see more")]
    found = [_kind(terminal), _size(terminal), _characters(terminal), _colours(terminal)]
    return found + (_tmux(terminal) if "TMUX" in terminal.environment else []) + _way(terminal)


def read_tmux_options() -> dict[str, str]:
    """Server and session options of the tmux around this process; empty where it does not answer in time."""
    options: dict[str, str] = {}
    for scope in ("-gs", "-g"):
        try:
            said = subprocess.run(
                ["tmux", "show-options", scope], capture_output=True, text=True, errors="replace", timeout=TMUX_LIMIT_S
            )
        except (OSError, subprocess.TimeoutExpired):
            return options
        for line in said.stdout.splitlines():
            name, _, value = line.partition(" ")
            options[name] = value.strip('"')
    return options


def _kind(terminal: Terminal) -> Examination:
    kind = terminal.environment.get("TERM", "")
    if kind in ("", "dumb"):
        return Examination(AREA, "kind", "problem", f"TERM is {kind or 'not set'}", "export TERM=xterm-256color")
    return Examination(AREA, "kind", "good", f"TERM is {kind}")


def _size(terminal: Terminal) -> Examination:
    if terminal.size is None:
        return Examination(AREA, "size", "note", "the size is unknown", "run `resize`, or open a new terminal")
    columns, rows = terminal.size
    found = f"{columns} columns, {rows} rows"
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        return Examination(AREA, "size", "note", found, "80 columns and 24 rows or more show everything")
    return Examination(AREA, "size", "good", found)


def _characters(terminal: Terminal) -> Examination:
    if "utf" in terminal.encoding.lower():
        return Examination(AREA, "characters", "good", f"encoding {terminal.encoding}")
    return Examination(
        AREA, "characters", "note", f"encoding {terminal.encoding}: bars and lines would be wrong",
        "export LC_ALL=C.UTF-8, or ALULA_ASCII=1 for ASCII alone",
    )  # fmt: skip


def _colours(terminal: Terminal) -> Examination:
    environment = terminal.environment
    if environment.get("NO_COLOR"):
        return Examination(AREA, "colours", "good", "none, as NO_COLOR asks; signs and words carry the meaning")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return Examination(AREA, "colours", "good", "16 million")
    if "256color" in environment.get("TERM", "") or "direct" in environment.get("TERM", ""):
        return Examination(AREA, "colours", "good", "256")
    return Examination(
        AREA, "colours", "note", "16 at most, as TERM says", "export TERM=xterm-256color if it knows more"
    )


def _tmux(terminal: Terminal) -> list[Examination]:
    found = [Examination(AREA, "tmux", "good", "inside tmux: the console lives on when the line drops")]
    delay = terminal.tmux_options.get("escape-time", "")
    if delay.isdigit() and int(delay) > SLOW_ESCAPE_MS:
        found.append(
            Examination(AREA, "tmux escape-time", "note", f"{delay} ms: Esc answers late",
                        "tmux set -s escape-time 20")
        )  # fmt: skip
    if terminal.tmux_options.get("set-clipboard") == "off":
        found.append(
            Examination(AREA, "tmux set-clipboard", "note", "off: copying a corrected command does not reach you",
                        "tmux set -s set-clipboard on")
        )  # fmt: skip
    return found


def _way(terminal: Terminal) -> list[Examination]:
    environment = terminal.environment
    if "SSH_CONNECTION" not in environment:
        return []
    if "TMUX" in environment or "STY" in environment:
        return [Examination(AREA, "SSH", "good", "over SSH, inside a multiplexer")]
    return [
        Examination(AREA, "SSH", "note", "over SSH without tmux: the console ends with the line; jobs go on",
                    "start it in tmux")
    ]  # fmt: skip


def this_terminal() -> Terminal:
    """The one that this process writes to."""
    import sys

    is_terminal = sys.stdout.isatty()
    try:
        size = os.get_terminal_size(sys.stdout.fileno()) if is_terminal else None
    except (OSError, ValueError):
        size = None
    return Terminal(
        is_terminal=is_terminal,
        size=(size.columns, size.lines) if size else None,
        encoding=sys.stdout.encoding or "unknown",
        environment=dict(os.environ),
        tmux_options=read_tmux_options() if "TMUX" in os.environ else {},
    )
