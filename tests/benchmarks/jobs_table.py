"""200 jobs wait and 5,000 have ended: how soon the table stands, and whether it keeps up with a held key."""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

from engine.client import Client, CommandRefused, EngineUnavailable
from state import rows
from state.database import open_database
from state.folder import StateFolder, state_folder
from state.job_queue import pause_queue
from state.records.jobs import Job, Schedule
from tests.benchmarks import subjects
from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.benchmarks.results import Result

WAITING, ENDED, OPENINGS = 200, 5_000, 7
MARKERS = {"alula": b"Queue paused"}
"""Told after the jobs, so that it stands where they stand. The peer shows jobs nowhere else."""
REPEAT_S, PRESSES = 1 / 30, 150
"""As fast as a keyboard repeats a held key, for five seconds."""
MOST_MS, LIMIT_S = 100.0, 120.0


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """The console beside Textual's own table of the same rows."""
    with tempfile.TemporaryDirectory() as name:
        before, os.environ["ALULA_HOME"] = os.environ.get("ALULA_HOME"), f"{name}/home"
        folder = state_folder()
        client = Client(folder)
        try:
            client.ensure_engine()
            _fill(folder)
            yield from _figures(folder)
        finally:
            with suppress(EngineUnavailable, CommandRefused):
                client.ask("engine.stop", {}, timeout_s=20.0)
            os.environ.pop("ALULA_HOME") if before is None else os.environ.update(ALULA_HOME=before)


def _figures(folder: StateFolder) -> Iterator[Result]:
    naive = [sys.executable, "-m", "tests.benchmarks.naive_jobs", str(folder.database_path)]
    found: dict[str, float] = {}
    for subject in (subjects.console(folder.path), subjects.Subject("Textual's DataTable", naive, {}, b"GPU")):
        opened, cpu_ms, delays, behind_ms = _measure(subject)
        alula = subject.name == "alula"
        found[subject.name] = median = statistics.median(opened)
        yield Result(subject.name, "key 4 to table, median", median, "ms", MOST_MS if alula else None)
        yield Result(subject.name, "slowest of 7", max(opened), "ms")
        yield Result(subject.name, "CPU of it, median", statistics.median(cpu_ms), "ms")
        yield Result(subject.name, "held key, p50", statistics.median(delays), "ms")
        p95 = statistics.quantiles(delays, n=20)[-1]
        yield Result(subject.name, "held key, p95", p95, "ms", 1000 * REPEAT_S if alula else None)
        yield Result(subject.name, "behind at its end", behind_ms, "ms")
    yield Result("alula : DataTable", "key 4 to table", found["alula"] / found["Textual's DataTable"], "ratio")


def _measure(subject: subjects.Subject) -> tuple[list[float], list[float], list[float], float]:
    opened, cpu_ms = [], []
    marker = MARKERS.get(subject.name, b"waits-5190")
    for _ in range(OPENINGS):
        with PseudoTerminal(subject.command, size=(160, 48), environment=subject.environment) as session:
            assert session.read_until(lambda output: subject.marker in output), f"{subject.name}: no first frame"
            session.read(1.5)
            pressed_at, cpu_s = time.monotonic(), session.cpu_s()
            session.send(b"4")
            assert session.read_until(lambda output: marker in output, LIMIT_S), f"{subject.name}: no table"
            opened.append(1000 * (session.last_output_at - pressed_at))
            cpu_ms.append(1000 * (session.cpu_s() - cpu_s))
            if len(opened) == OPENINGS:
                session.read(1.5)
                return opened, cpu_ms, *_held_key(session)
    raise AssertionError


def _held_key(session: PseudoTerminal) -> tuple[list[float], float]:
    """From each press to the next output, and what came after the last press that no press was due for."""
    delays, start = [], time.monotonic()
    for press in range(PRESSES):
        due = start + press * REPEAT_S
        session.read(max(0.0, due - time.monotonic()))
        before, pressed_at = len(session.output), time.monotonic()
        session.send(b"\x1b[B")
        session.read_until(lambda output, before=before: len(output) > before, limit_s=1)
        delays.append(1000 * (session.last_output_at - pressed_at))
    last_at = time.monotonic()
    session.read(0.5)
    return delays, max(0.0, 1000 * (session.last_output_at - last_at))


def _fill(folder: StateFolder) -> None:
    now = time.time()
    with closing(open_database(folder.database_path)) as database:
        database.execute("BEGIN")
        pause_queue(database, "benchmark", now)
        for number in range(1, ENDED + WAITING + 1):
            rows.replace(database, "job", _job(number, now))
        database.execute("COMMIT")


def _job(number: int, now: float) -> Job:
    ended = number <= ENDED
    return Job(
        id=number, name=f"{'ran' if ended else 'waits'}-{number}", kind="bench",
        state=("done" if number % 7 else "failed") if ended else "queued",
        argv=("python", "-m", "trainer", "--lr", "1e-4", "--config", f"/runs/{number}/config.yaml"), working_dir="/tmp",
        run_folder=f"/tmp/none/{number}", created_at=now - 90_000 + number * 10,
        started_at=now - 80_000 + number * 10 if ended else None,
        ended_at=now - 79_000 + number * 10 if ended else None, exit_code=number % 7 and 1 if ended else None,
        reason="exit code 1" if ended and not number % 7 else None if ended else "the queue is paused",
        schedule=Schedule(gpus=number % 3),
    )  # fmt: skip
