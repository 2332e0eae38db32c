"""The queue paused, drained and started again by keys, with a real engine; and what a waiting job says of itself."""

import time
from pathlib import Path

import pytest

from console.screens.jobs import JobsScreen
from engine.client import Client
from state.folder import state_folder
from state.records.jobs import Job, JobState, Schedule
from state.records.views import QueueView
from tests.console.seeded import console
from tests.console.test_console_in_use import text_of, until
from widgets.confirmation import Confirmation
from widgets.jobs.columns import gpu_words, try_words
from widgets.jobs.queue_strip import queue_words

NOTHING = Schedule()


async def test_pause_drain_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    folder = state_folder()
    client = Client(folder)
    client.ensure_engine()
    client.ask("jobs.launch", {"argv": ["sleep", "1000"], "name": "long"}, timeout_s=30.0)
    app = console(folder)
    try:
        async with app.run_test(size=(120, 30)) as pilot:
            await pilot.press("4")
            await until(pilot, lambda: "1 run, 0 wait" in text_of(app), "the queue's line")
            await pilot.press("D")
            await until(pilot, lambda: isinstance(app.screen, Confirmation), "the question")
            assert "job 1 long" in text_of(app)
            await pilot.press("n", "D")
            await until(pilot, lambda: isinstance(app.screen, Confirmation), "the question again")
            await pilot.press("y")
            await until(pilot, lambda: "1 still run" in text_of(app), "the pause")
            client.ask("jobs.launch", {"argv": ["true"], "name": "short"}, timeout_s=30.0)
            await until(pilot, lambda: "the queue is paused" in text_of(app), "the reason")
            client.ask("jobs.stop", {"job_id": 1}, timeout_s=30.0)
            await until(pilot, lambda: "nothing runs, 1 wait" in text_of(app), "the drained queue")
            await pilot.press("P")
            await until(pilot, lambda: "0 run, 0 wait" in text_of(app), "the end of the pause")
            assert isinstance(app.screen, JobsScreen) and "Queue paused" not in text_of(app)
    finally:
        client.ask("engine.stop", {}, timeout_s=30.0)


def job(state: JobState, schedule: Schedule = NOTHING, gpus: tuple[int, ...] = (), attempt: int = 0) -> Job:
    return Job(name="x", kind="serve", state=state, argv=("x",), working_dir="/", run_folder="", created_at=0.0,
               gpus=gpus, attempt=attempt, schedule=schedule)  # fmt: skip


def test_gpus_and_tries_of_a_job() -> None:
    waiting = job("queued", attempt=1)
    assert gpu_words(waiting) == "" and try_words(waiting) == "2"
    assert gpu_words(job("queued", Schedule(gpus=4))) == "any 4"
    assert gpu_words(job("queued", Schedule(gpu_choice=(0, 3)))) == "only 0,3"
    assert gpu_words(job("running", gpus=(0, 3))) == "0 3"
    assert try_words(job("running", Schedule(retries=2))) == "1/3" and try_words(job("running")) == ""


def test_the_line_of_a_paused_queue_says_who_and_how_to_go_on() -> None:
    view = QueueView(running=2, waiting=5, paused_at=time.time() - 60, paused_by="kim")
    text = queue_words(view, time.time()).plain
    assert "paused by kim" in text and "P starts it again" in text and len(text) <= 80
