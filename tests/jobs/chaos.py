"""Kills engine and runners at random moments over a queue of short jobs, and counts what came of it."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from engine.client import Client, EngineUnavailable
from state.database import open_database
from state.folder import StateFolder
from state.jobs import open_jobs, read_jobs
from state.process_identity import ProcessIdentity, is_alive
from state.records.jobs import Job
from tests.limits import LIMIT_S

MOST_JOBS = 1_000_000


class Wanted(msgspec.Struct, frozen=True):
    """A job that was asked for, and how it has to end."""

    marks: Path
    """It writes its start and its end here."""
    code: int


class Outcome(msgspec.Struct):
    """What came of all kills."""

    kills: Counter[str] = msgspec.field(default_factory=Counter)
    ends: Counter[str] = msgspec.field(default_factory=Counter)
    forgotten: int = 0
    unasked: int = 0
    twice: list[str] = msgspec.field(default_factory=list)
    wrong: list[str] = msgspec.field(default_factory=list)
    """Jobs whose end is recorded as it was not."""


class Chaos:
    """One run; the same seed kills in the same order, though not at the same moments."""

    def __init__(self, client: Client, folder: Path, seed: int) -> None:
        self.client, self.folder, self.dice = client, folder, random.Random(seed)
        self.wanted: dict[int, Wanted] = {}
        self.unwatched: set[int] = set()
        self.kills: Counter[str] = Counter()
        self.killed: list[ProcessIdentity] = []

    def run(self, kills: int, report: Callable[[str], None] = lambda line: None) -> Outcome:
        """Launch a job or two, wait for a random moment, kill, until so many were killed; then wait for all ends."""
        told = 0
        while (done := self.kills.total()) < kills:
            self.client.ensure_engine()
            for _ in range(self.dice.randint(1, 2)):
                with suppress(EngineUnavailable):  # withdrawn, so it will not run
                    self._launch()
            time.sleep(self.dice.random() * 0.4)  # the random moment, not a wait for anything
            if self.dice.random() < 0.6:
                self._kill_engine()
            if self.dice.random() < 0.6:
                self._kill_runner()
            if done // 100 > told:
                told = done // 100
                report(f"{done} of {kills} kills, {len(self.wanted)} jobs")
        self._wait_for_deaths()
        self.client.ensure_engine()
        self._wait_for_ends()
        return self._outcome()

    def _launch(self) -> None:
        marks, code = self.folder / f"{len(self.wanted)}", self.dice.choice([0, 0, 7])
        script = f"echo start >> {marks}; sleep {self.dice.random():.2f}; echo end >> {marks}; exit {code}"
        after = self.dice.sample(list(self.wanted), k=min(len(self.wanted), self.dice.choice([0, 0, 1, 2])))
        arguments = {"argv": ["sh", "-c", script], "name": "short", "schedule": {"after": after}}
        answer = self.client.ask("jobs.launch", arguments, timeout_s=20.0)
        self.wanted[answer["job_id"]] = Wanted(marks, code)

    def _kill_engine(self) -> None:
        if found := self.client.running_engine():
            self._end(ProcessIdentity(found.pid, found.pid_started_at, found.boot_id), "engine")

    def _kill_runner(self) -> None:
        victims = [job for job in self._jobs(open_jobs) if job.runner_pid is not None]
        if victims:
            job = self.dice.choice(victims)
            assert job.runner_pid is not None and job.runner_started_at is not None and job.boot_id is not None
            self.unwatched.add(job.id)
            self._end(ProcessIdentity(job.runner_pid, job.runner_started_at, job.boot_id), "runner")

    def _end(self, process: ProcessIdentity, kind: str) -> None:
        if is_alive(process.pid, process.started_at, process.boot_id):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
                self.kills[kind] += 1
                self.killed.append(process)

    def _wait_for_deaths(self) -> None:
        """A killed engine looks alive for some milliseconds more, and no other would be started in its place."""
        deadline = time.monotonic() + LIMIT_S
        while any(is_alive(one.pid, one.started_at, one.boot_id) for one in self.killed):
            assert time.monotonic() < deadline, f"killed processes live after {LIMIT_S:.0f} s"
            time.sleep(0.01)

    def _wait_for_ends(self) -> None:
        deadline = time.monotonic() + LIMIT_S
        while self._jobs(open_jobs):
            assert time.monotonic() < deadline, f"jobs are open after {LIMIT_S:.0f} s"
            time.sleep(0.05)

    def _outcome(self) -> Outcome:
        jobs = {job.id: job for job in self._jobs(lambda database: read_jobs(database, limit=MOST_JOBS))}
        outcome = Outcome(kills=self.kills, ends=Counter(job.state for job in jobs.values()))
        outcome.forgotten = len(self.wanted.keys() - jobs.keys())
        outcome.unasked = len(jobs.keys() - self.wanted.keys())
        for job_id in self.wanted.keys() & jobs.keys():
            self._judge(jobs[job_id], self.wanted[job_id], outcome)
        return outcome

    def _judge(self, job: Job, wanted: Wanted, outcome: Outcome) -> None:
        marks = wanted.marks.read_text().split() if wanted.marks.exists() else []
        if marks.count("start") > 1:
            outcome.twice.append(f"job {job.id}: {marks}")
        right = ("done", 0) if wanted.code == 0 else ("failed", wanted.code)
        if (job.state, job.exit_code) == right:
            is_true = marks == ["start", "end"]
        else:  # only a job whose runner was killed may have lost its exit status, and then it says so
            is_true = job.id in self.unwatched and job.state in ("lost", "failed")
            is_true = is_true and job.exit_code is None and bool(job.reason)
        if not is_true or marks.count("start") != marks.count("end") or job.ended_at is None:
            outcome.wrong.append(f"job {job.id}: {job.state} {job.exit_code} {job.reason}, {marks}")

    def _jobs(self, read: Callable[..., list[Job]]) -> list[Job]:
        folder: StateFolder = self.client.folder
        with closing(open_database(folder.database_path)) as database:
            return read(database)
