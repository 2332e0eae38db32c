"""Engine and runners are killed at random moments over a queue of short jobs: none runs twice, none is forgotten, and
each end is the right one. `ALULA_CHAOS_KILLS` sets how many kills (30 if it is not set), `ALULA_CHAOS_SEED` which."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.folder import StateFolder, state_folder
from state.jobs import open_jobs, read_jobs
from state.process_identity import ProcessIdentity, is_alive
from state.records.jobs import Job

KILLS = int(os.environ.get("ALULA_CHAOS_KILLS", "30"))
SEED = int(os.environ.get("ALULA_CHAOS_SEED", str(time.time_ns() % 10_000)))
LIMIT_S = 90.0


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    client = Client(state_folder())
    yield client
    with suppress(EngineUnavailable, CommandRefused):
        client.ask("engine.stop", {}, timeout_s=20.0)


@pytest.mark.timeout(LIMIT_S * 2 + KILLS * 4)
def test_kills_at_random_moments(client: Client, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    wanted: dict[int, tuple[Path, int]] = {}
    unwatched: set[int] = set()
    for number in range(KILLS):
        client.ensure_engine()
        for _ in range(dice.randint(1, 2)):
            with suppress(EngineUnavailable):  # withdrawn, so it will not run
                launch(client, tmp_path / f"{len(wanted)}", dice, wanted)
        time.sleep(dice.random() * 0.4)  # the random moment, not a wait for anything
        kill_something(client, dice, unwatched, engine=number % 2 == 0)
    client.ensure_engine()
    wait_until(lambda: not open_now(client.folder), f"all jobs end (seed {SEED})")

    jobs = {job.id: job for job in all_jobs(client.folder)}
    assert jobs.keys() == wanted.keys()
    for job_id, (marks, code) in wanted.items():
        check_end(jobs[job_id], marks.read_text().split() if marks.exists() else [], code, job_id in unwatched)


def launch(client: Client, marks: Path, dice: random.Random, wanted: dict[int, tuple[Path, int]]) -> None:
    code = dice.choice([0, 0, 7])
    script = f"echo start >> {marks}; sleep {dice.random():.2f}; echo end >> {marks}; exit {code}"
    after = dice.sample(list(wanted), k=min(len(wanted), dice.choice([0, 0, 1, 2])))
    arguments = {"argv": ["sh", "-c", script], "name": "short", "schedule": {"after": after}}
    answer = client.ask("jobs.launch", arguments, timeout_s=20.0)
    wanted[answer["job_id"]] = (marks, code)


def kill_something(client: Client, dice: random.Random, unwatched: set[int], engine: bool) -> None:
    if engine:
        if found := client.running_engine():
            kill(ProcessIdentity(found.pid, found.pid_started_at, found.boot_id))
        return
    victims = [job for job in open_now(client.folder) if job.runner_pid is not None]
    if victims:
        job = dice.choice(victims)
        assert job.runner_pid is not None and job.runner_started_at is not None and job.boot_id is not None
        unwatched.add(job.id)
        kill(ProcessIdentity(job.runner_pid, job.runner_started_at, job.boot_id))


def kill(process: ProcessIdentity) -> None:
    if is_alive(process.pid, process.started_at, process.boot_id):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def check_end(job: Job, marks: list[str], code: int, unwatched: bool) -> None:
    assert marks.count("start") <= 1, f"job {job.id} ran twice"
    assert marks.count("start") == marks.count("end"), f"job {job.id} ended before its process did, or cut it off"
    right = ("done", 0) if code == 0 else ("failed", code)
    if (job.state, job.exit_code) == right:
        assert marks == ["start", "end"]
    else:
        assert unwatched and job.state in ("lost", "failed"), (job, marks)
        assert job.exit_code is None and job.reason
    assert job.ended_at is not None


def open_now(folder: StateFolder) -> list[Job]:
    with closing(open_database(folder.database_path)) as database:
        return open_jobs(database)


def all_jobs(folder: StateFolder) -> list[Job]:
    with closing(open_database(folder.database_path)) as database:
        return read_jobs(database, limit=10 * KILLS)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S:.0f} s: {what}"
        time.sleep(0.05)
