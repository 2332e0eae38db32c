"""Bytes a second, CPU and memory of a screen at rest, in a terminal and through tmux."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import subjects
from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.benchmarks.results import Result, Skipped
from tests.benchmarks.subjects import Subject

SIZES = ((160, 48), (80, 24))
WARM_UP_S, WINDOW_S = 5.0, 15.0
MOST_BYTES_PER_S = {(160, 48): 500.0, (80, 24): 350.0}
MOST_CPU_PERCENT, MOST_RSS_MIB = 1.2, 60.0


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Measure every subject at both sizes; what is missing is reported in a line."""
    with tempfile.TemporaryDirectory() as name, subjects.fed_folder(Path(name)) as folder:
        makers: list[Callable[[], Subject]] = [
            lambda: subjects.console(folder),
            subjects.widgets,
            subjects.naive,
            subjects.htop,
            lambda: subjects.nvitop(Path(name)),
        ]
        for make in makers:
            try:
                subject = make()
                for size in SIZES:
                    yield from _measure(subject, size)
                    yield from _through_tmux(subject, size, Path(name))
            except Skipped as skipped:
                report(f"  skipped: {skipped}")


def _measure(subject: Subject, size: tuple[int, int]) -> Iterator[Result]:
    ours = subject.name.startswith("alula")
    where = f"{subject.name}, {size[0]}x{size[1]}"
    with PseudoTerminal(subject.command, size=size, environment=subject.environment) as session:
        _await_first_frame(session, subject)
        session.read(WARM_UP_S)
        before, started = session.cpu_s(), time.monotonic()
        sent = len(session.read(WINDOW_S))
        seconds = time.monotonic() - started
        cpu = session.cpu_s() - before
        yield Result(where, "sent", sent / seconds, "B/s", MOST_BYTES_PER_S[size] if ours else None)
        yield Result(where, "CPU", 100 * cpu / seconds, "%", MOST_CPU_PERCENT if ours else None)
        yield Result(where, "memory", session.rss_bytes() / 2**20, "MiB", MOST_RSS_MIB if ours else None)


def _through_tmux(subject: Subject, size: tuple[int, int], scratch: Path) -> Iterator[Result]:
    if shutil.which("tmux") is None:
        raise Skipped("tmux is not installed, so nothing is measured through it")
    configuration = scratch / "tmux.conf"
    configuration.write_text('set -g status off\nset -ga terminal-features ",*:RGB"\n')
    tmux = ["tmux", "-S", str(scratch / "tmux.socket"), "-f", str(configuration)]
    settings = [f"{name}={value}" for name, value in subject.environment.items() if value is not None]
    command = [*tmux, "new-session", "env", "COLORTERM=truecolor", *settings, *subject.command]
    try:
        with PseudoTerminal(command, size=size) as session:
            _await_first_frame(session, subject)
            session.read(WARM_UP_S)
            started = time.monotonic()
            sent = len(session.read(WINDOW_S))
            goal = MOST_BYTES_PER_S[size] if subject.name.startswith("alula") else None
            where = f"{subject.name}, {size[0]}x{size[1]}, tmux"
            yield Result(where, "sent", sent / (time.monotonic() - started), "B/s", goal)
    finally:  # it outlives its terminal
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def _await_first_frame(session: PseudoTerminal, subject: Subject) -> None:
    if not session.read_until(lambda output: subject.marker in output):
        last = session.output[-300:].decode(errors="replace").strip().splitlines()
        raise Skipped(f"{subject.name} shows no first frame here ({last[-1] if last else 'no output'})")
