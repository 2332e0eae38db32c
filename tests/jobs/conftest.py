"""A real engine with nothing but commands and jobs, in a process of its own."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from engine.client import Client
from state.database import open_database
from state.folder import state_folder
from state.jobs import read_job
from state.records.jobs import ENDED, Job
from tests.conftest import end_processes_of
from tests.limits import LIMIT_S


class Host:
    """An engine, and what a test does with it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.client = Client(state_folder())

    def launch(self, *argv: str, **more: Any) -> int:
        arguments = {"argv": list(argv), "grace_s": 5.0} | more
        return int(self.client.ask("jobs.launch", arguments, timeout_s=LIMIT_S)["job_id"])

    def job(self, job_id: int) -> Job:
        with closing(open_database(self.client.folder.database_path)) as database:
            job = read_job(database, job_id)
        assert job is not None
        return job

    def wait_for(self, job_id: int, *states: str) -> Job:
        wait_until(lambda: self.job(job_id).state in (states or ENDED), f"job {job_id} to be {states or 'ended'}")
        return self.job(job_id)

    def log(self, job_id: int) -> str:
        return (Path(self.job(job_id).run_folder) / "log.txt").read_text()

    def kill_engine(self) -> None:
        engine = self.client.running_engine()
        assert engine is not None
        kill(engine.pid)


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S:.0f} s: {what}"
        time.sleep(0.02)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not lives(pid), f"process {pid} to be gone")


def lives(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] not in "ZX"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    host = Host(tmp_path)
    host.client.ensure_engine()
    yield host
    with suppress(Exception):
        host.client.ask("engine.stop", {}, timeout_s=LIMIT_S)
    end_processes_of(str(tmp_path))
