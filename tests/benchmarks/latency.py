"""From a key to the screen, with ten thousand jobs in the table."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import subjects
from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.benchmarks.results import Result, Skipped

JOBS, PRESSES, MOST_MS = 10_000, 60, 12.0
TO_JOBS = b"4"
KEYS = (b"\x1b[B", b"\x1b[B", b"\x1b[A")


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Press cursor keys in the jobs table of a fed console, and in htop."""
    with tempfile.TemporaryDirectory() as name, subjects.fed_folder(Path(name), jobs=JOBS) as folder:
        makers = (
            (lambda: subjects.console(folder), TO_JOBS),
            (lambda: subjects.widgets(JOBS), b""),
            (subjects.htop, b""),
        )
        for make, first in makers:
            try:
                subject = make()
                delays = _delays(subject, first)
            except Skipped as skipped:
                report(f"  skipped: {skipped}")
                continue
            goal = MOST_MS if subject.name.startswith("alula") else None
            yield Result(subject.name, "key to screen, p50", statistics.median(delays), "ms")
            yield Result(subject.name, "key to screen, p95", statistics.quantiles(delays, n=20)[-1], "ms", goal)


def _delays(subject: subjects.Subject, first: bytes) -> list[float]:
    delays = []
    with PseudoTerminal(subject.command, size=(160, 48), environment=subject.environment) as session:
        if not session.read_until(lambda output: subject.marker in output):
            raise Skipped(f"{subject.name} shows no first frame here")
        session.read(2)
        session.send(first)
        session.read(2)
        for press in range(PRESSES):
            before, pressed_at = len(session.output), time.monotonic()
            session.send(KEYS[press % len(KEYS)])
            session.read_until(lambda output, before=before: len(output) > before, limit_s=2)
            delays.append(1000 * (session.last_output_at - pressed_at))
            session.read(0.15)
    return delays
