"""A child process in a real pseudo-terminal: what it writes, when, and what it costs."""

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import psutil

ANSWERS = {
    b"\x1b[?2026$p": b"\x1b[?2026;0$y",
    b"\x1b[?2048$p": b"\x1b[?2048;0$y",
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
}
"""What a plain terminal answers to the questions that programs ask: no synchronised output, no in-band resize."""


class PseudoTerminal:
    """Runs a command in a terminal of a given size."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self.output = b""
        self.first_output_at: float | None = None
        self.last_output_at = 0.0
        self.size = size
        ready, go = os.pipe()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            os.execvpe(command[0], list(command), _environment(environment or {}))
        self.resize(*size)
        self.started_at = time.monotonic()
        os.write(go, b".")
        os.close(ready)
        os.close(go)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size; the child gets SIGWINCH."""
        self.size = (width, height)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self.terminal, keys)

    def read(self, seconds: float) -> bytes:
        """What the child writes within this time; sooner where it ends."""
        start, until = len(self.output), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.read_once(left):
            pass
        return self.output[start:]

    def read_once(self, seconds: float) -> bool:
        """Wait for one piece of output; `False` once the child has closed the terminal."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.terminal, 1 << 16)
        except OSError:
            return False
        self.last_output_at = time.monotonic()
        self.first_output_at = self.first_output_at or self.last_output_at
        self.output += data
        for question, answer in ANSWERS.items():
            if question in data:
                os.write(self.terminal, answer)
        return bool(data)

    def read_until(self, condition: Callable[[bytes], bool], limit_s: float = 20) -> bool:
        """Read until a condition holds for all output so far, within a generous limit."""
        until = time.monotonic() + limit_s
        while not condition(self.output):
            if time.monotonic() > until or not self.read_once(0.1):
                return condition(self.output)
        return True

    def processes(self) -> list[psutil.Process]:
        """The child and what it started."""
        try:
            child = psutil.Process(self.pid)
            return [child, *child.children(recursive=True)]
        except psutil.Error:
            return []

    def cpu_s(self) -> float:
        """Seconds of CPU that the child and its children have used."""
        return sum(times.user + times.system for times in (process.cpu_times() for process in self.processes()))

    def rss_bytes(self) -> int:
        """Memory of the child and its children."""
        return sum(process.memory_info().rss for process in self.processes())

    def close(self) -> None:
        """Hang up, as a lost connection does."""
        if self.terminal >= 0:
            os.close(self.terminal)
            self.terminal = -1

    def wait(self, limit_s: float = 20) -> int | None:
        """The child's return code, negative for a signal; `None` where it still runs."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            if self.terminal >= 0:
                self.read(0.02)
            else:
                time.sleep(0.02)
        return None

    def end(self) -> None:
        """Hang up and end the child."""
        processes = self.processes() if self.pid else []
        self.close()
        for process in processes:
            process.kill()
        if self.pid:
            os.waitpid(self.pid, 0)
            self.pid = 0


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    usual: dict[str, str | None] = {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": None,
        "TMUX": None,
    }
    usual |= {"LINES": None, "COLUMNS": None}
    merged = {**os.environ, **usual, **changes}
    return {name: value for name, value in merged.items() if value is not None}
