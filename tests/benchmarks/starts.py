"""How long a command takes: the first frame of the console, and the commands that scripts call often."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import subjects
from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.benchmarks.results import Result

ROUNDS = 10
MOST_FIRST_FRAME_S, MOST_COMMAND_S = 0.4, 0.25
COMMANDS = (("--version",), ("jobs", "list"), ("jobs", "list", "--json"), ("status", "--json"))


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """The best of ten, warm, each."""
    with tempfile.TemporaryDirectory() as name, subjects.fed_folder(Path(name)) as folder:
        for subject in (subjects.console(folder), subjects.widgets(), subjects.naive()):
            times = list(_first_frames_s(subject))
            if times:
                goal = MOST_FIRST_FRAME_S if subject.name.startswith("alula") else None
                yield Result(subject.name, "first frame", min(times), "s", goal)
            else:
                report(f"  skipped: {subject.name} shows no first frame here")
        for arguments in COMMANDS:
            seconds = _command_s(arguments, folder)
            if seconds is None:
                report(f"  skipped: alula {' '.join(arguments)} fails here")
            else:
                yield Result(f"alula {' '.join(arguments)}", "whole command", seconds, "s", MOST_COMMAND_S)


def _first_frames_s(subject: subjects.Subject) -> Iterator[float]:
    for _ in range(ROUNDS):
        with PseudoTerminal(subject.command, size=(160, 48), environment=subject.environment) as session:
            if not session.read_until(lambda output: subject.marker in output):
                return
            yield session.last_output_at - session.started_at


def _command_s(arguments: tuple[str, ...], folder: Path) -> float | None:
    times = []
    environment = {**os.environ, "ALULA_HOME": str(folder)}
    for _ in range(ROUNDS):
        start = time.monotonic()
        done = subprocess.run([*subjects.ALULA, *arguments], env=environment, cwd=subjects.ROOT, capture_output=True)
        times.append(time.monotonic() - start)
        if done.returncode:
            return None
    return min(times)
