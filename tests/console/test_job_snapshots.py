"""What the screens of jobs look like at three sizes, with the clock standing still."""

import random
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.app import Console
from console.screens.job import JobScreen
from console.screens.job_comparison import JobComparisonScreen
from console.screens.job_metrics import JobMetrics
from console.screens.launch import LaunchScreen
from engine.jobs.recipes.catalogue import built_in
from state.database import open_database
from state.job_queue import pause_queue
from state.jobs import add_job
from state.records.jobs import Job, JobState, Schedule
from tests.console.seeded import console, empty, stand_still
from tests.console.test_snapshots import NOW, SIZES, until_said

Compare = Callable[..., bool]
HOUR = 3600.0


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """A paused queue with jobs of all kinds; relative paths, so that they are the same in every run."""
    stand_still(monkeypatch, NOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("console.launching.looking.free_now", lambda *given: "free now: GPU 6 7 of 8, memory 1620 GiB")
    folder = empty(tmp_path / "state")
    with closing(open_database(folder.database_path)) as database:
        pause_queue(database, "kim", NOW - 300)
        for made in jobs():
            add_job(database, made)
    server_log(tmp_path / "runs" / "3")
    app = console(folder)
    app.animation_level = "none"
    return app


def jobs() -> list[Job]:
    """Two trainings that ended, a server, three jobs that wait."""
    training = {"config": "run.yaml", "overrides": ["training.learning_rate=1e-4"], "gpus": 4}
    better = {**training, "overrides": ["training.learning_rate=5e-5"], "gpus": 8}
    trainer = ("python", "-m", "specforge.cli", "train", "--config", "run.yaml")
    server = ("python", "-m", "sglang.launch_server", "--model-path", "target", "--api-key", "not to be seen")
    return [
        job(1, "draft-1", "failed", trainer, recipe="specforge-train", parameters=training, gpus=(0, 1, 2, 3),
            schedule=Schedule(gpus=4, retries=2), exit_code=1, reason="exit code 1"),
        job(2, "draft-2", "done", trainer, recipe="specforge-train", parameters=better, gpus=tuple(range(8)),
            schedule=Schedule(gpus=8), exit_code=0),
        job(3, "serve-target", "running", server, kind="serve", recipe="sglang-server",
            parameters={"model": "target"}, gpus=(0, 1), schedule=Schedule(gpus=2, ports=(30000,)), pid=4711),
        job(4, "draft-1", "queued", trainer, attempt=1, retry_of=1, schedule=Schedule(gpus=4, retries=2),
            reason="the queue is paused"),
        job(5, "compare", "queued", ("alula", "bench", "run"), kind="bench", reason="the queue is paused",
            schedule=Schedule(after_ok=(4,), gpu_choice=(6, 7))),
    ]  # fmt: skip


def job(number: int, name: str, state: JobState, argv: tuple[str, ...], *, kind: str = "train", **more: Any) -> Job:
    started = None if state == "queued" else NOW - (10 - number) * HOUR
    ended = started + 0.5 * HOUR * number if started is not None and state != "running" else None
    return Job(id=number, name=name, kind=kind, state=state, argv=argv, working_dir="/work",
               run_folder=f"runs/{number}", created_at=NOW - (10 - number) * HOUR,
               started_at=started, ended_at=ended, **more)  # fmt: skip


def server_log(folder: Path) -> None:
    """Ten minutes of a server's decode lines."""
    dice = random.Random(1)
    folder.mkdir(parents=True)
    lines = []
    for second in range(0, 600, 5):
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(NOW - 600 + second))
        accept, speed = 2.1 + dice.uniform(-0.2, 0.2), 830 + dice.uniform(-60, 60)
        lines.append(f"[{at} TP0] Decode batch, #running-req: 8, token usage: 0.05, accept len: {accept:.2f}, "
                     f"accept rate: 0.42, gen throughput (token/s): {speed:.2f}, #queue-req: 0\n")  # fmt: skip
    (folder / "log.txt").write_text("".join(lines))


async def list_of_jobs(pilot: Pilot[Any]) -> None:
    await pilot.press("4")
    await until_said(pilot, "Queue paused by kim")
    await until_said(pilot, "serve-target")


async def charts(pilot: Pilot[Any]) -> None:
    await pilot.app.push_screen(JobScreen(jobs()[2]))
    await until_said(pilot, "throughput")
    await until_said(pilot, "of 120")
    await pilot.press("m")
    await until_said(pilot, "accept length")
    assert pilot.app.screen.query_one(JobMetrics).display


async def everything(pilot: Pilot[Any]) -> None:
    await pilot.app.push_screen(JobScreen(jobs()[2]))
    await until_said(pilot, "of 120")
    await pilot.press("i")
    await until_said(pilot, "recipe")


async def comparison(pilot: Pilot[Any]) -> None:
    await pilot.app.push_screen(JobComparisonScreen(*jobs()[:2]))
    await until_said(pilot, "learning_rate")


async def form(pilot: Pilot[Any]) -> None:
    screen = LaunchScreen(built_in()["command"])
    await pilot.app.push_screen(screen)
    for entry in screen.query(Input):
        entry.cursor_blink = False
    await until_said(pilot, "is required")
    await until_said(pilot, "GPU 6 7 of 8")


VIEWS: dict[str, Callable[[Pilot[Any]], Awaitable[None]]] = {
    "list": list_of_jobs, "charts": charts, "everything": everything, "comparison": comparison, "form": form,
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_jobs(view: str, size: tuple[int, int], app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=size, run_before=VIEWS[view])
