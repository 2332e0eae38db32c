"""Waiting for a training's job: its end decides the exit code, and a signal stops it."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from console.command_line.train_waiting import wait_for_end
from tests.jobs.conftest import Host, host

__all__ = ["host"]


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("command", "code"), [("exit 0", 0), ("exit 3", 1)])
def test_its_end_decides(command: str, code: int, host: Host) -> None:
    assert wait_for_end(host.client.folder, host.launch("sh", "-c", command)) == code


def test_a_signal_stops_the_training_and_its_end_is_waited_for(host: Host) -> None:
    job_id = host.launch("sleep", "60")
    host.wait_for(job_id, "running")
    sender = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    sender.start()
    assert wait_for_end(host.client.folder, job_id) == 128 + signal.SIGTERM
    sender.join(10)
    assert host.job(job_id).state == "stopped"
