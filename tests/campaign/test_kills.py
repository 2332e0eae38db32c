"""The engine is killed at each step of a real campaign, and each time the next one goes on where it was."""

import os
import signal
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.campaign.order import Order
from engine.campaign.reading import read_specification, stored
from engine.campaign.work import begin
from engine.client import Client, EngineUnavailable
from engine.commands import Request
from engine.context import EngineContext
from engine.demo.prompts import standard_library_prompts
from engine.jobs.requests import launch
from engine.lock import is_locked
from engine.reference.checkpoint import shipped_draft, shipped_target
from state.campaigns import add_campaign, find_campaign, read_campaign_steps
from state.database import open_database
from state.folder import StateFolder, make_private
from state.jobs import read_jobs
from state.records.campaigns import Campaign, CampaignStep
from tests.campaign.made import specification

LIMIT_S = 160.0


def write_files(folder: Path, extra: str = "") -> Path:
    """A campaign on the reference server that takes seconds."""
    prompts = [msgspec.json.encode(prompt) + b"\n" for prompt in standard_library_prompts(10)]
    (folder / "bench.jsonl").write_bytes(prompts[0])
    (folder / "prompts.jsonl").write_bytes(b"".join(prompts[1:]))
    path = folder / "campaign.toml"
    path.write_text(
        f'name = "tiny"\n[target]\nmodel = "{shipped_target()}"\nreference = true\nready_within_s = 90\n'
        f'[draft]\npath = "{shipped_draft()}"\n[data]\nprompts = ["prompts.jsonl"]\n'
        "[regenerate]\nmax_tokens = 8\ntemperature = 0.0\nconcurrency = 4\nheld_out = 0.5\n"
        f'[bench]\nprompts = "bench.jsonl"\nnum_steps = [2]\nmax_tokens = 8\n{extra}'
    )
    return path


class Killed:
    """Kills the engine when a step is first seen at work."""

    def __init__(self, folder: StateFolder) -> None:
        self.folder = folder
        self.client = Client(folder)
        self.killed_at: list[str] = []

    def start(self, file: Path) -> None:
        self.client.ensure_engine()
        self.client.ask("campaign.start", {"specification": stored(read_specification(file))}, timeout_s=30)

    def run(self, limit_s: float = LIMIT_S) -> tuple[Campaign, tuple[CampaignStep, ...]]:
        deadline = time.monotonic() + limit_s
        with closing(open_database(self.folder.database_path)) as database:
            while True:
                campaign = find_campaign(database, None)
                assert campaign is not None and time.monotonic() < deadline, campaign
                steps = read_campaign_steps(database, campaign.id)
                if campaign.state != "running":
                    return campaign, steps
                for step in steps:
                    if step.state == "running" and step.name not in self.killed_at:
                        self.killed_at.append(step.name)
                        self.kill()
                time.sleep(0.05)

    def kill(self) -> None:
        engine = self.client.running_engine()
        if engine is not None:
            os.kill(engine.pid, signal.SIGKILL)
        deadline = time.monotonic() + LIMIT_S
        while is_locked(self.folder.engine_lock_path):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.client.ensure_engine()

    def close(self) -> None:
        with closing(open_database(self.folder.database_path)) as database:
            for job in read_jobs(database):
                if job.ended_at is None:
                    self.client.ask("jobs.stop", {"job_id": job.id}, timeout_s=20)
            deadline = time.monotonic() + LIMIT_S
            while any(job.ended_at is None for job in read_jobs(database)) and time.monotonic() < deadline:
                time.sleep(0.1)
        with suppress(EngineUnavailable):
            self.client.ask("engine.stop", {}, timeout_s=20)


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    made = Killed(StateFolder(path=make_private(tmp_path / "home")))
    yield made
    made.close()


@pytest.mark.timeout(240)
def test_killed_at_each_step_it_ends_with_each_step_done_once(killed: Killed, tmp_path: Path) -> None:
    killed.start(write_files(tmp_path))
    campaign, steps = killed.run()
    assert campaign.state == "done", (campaign.message, [(step.name, step.state, step.message) for step in steps])
    assert len(killed.killed_at) >= len(steps) - 2, "a step may be too short to be seen"
    assert [(step.name, step.attempts) for step in steps] == [(step.name, 1) for step in steps]
    figures = {step.kind: step.figures for step in steps}
    assert figures["regen"]["done"] == 9 and figures["export"]["train"] + figures["export"]["held_out"] == 9
    with closing(open_database(killed.folder.database_path)) as database:
        own = [job.name for job in read_jobs(database) if job.name.startswith("tiny: ")]
    assert len(own) == len(set(own)), "no job was begun twice"


def test_a_kill_before_the_commit_has_begun_nothing(tmp_path: Path) -> None:
    class Killing(BaseException):
        pass

    def launched_then_killed(request: Request) -> dict[str, Any]:
        launch(request)
        raise Killing

    import asyncio

    folder = StateFolder(path=make_private(tmp_path / "home"))
    context = EngineContext(folder=folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())
    wanted = specification()
    with closing(open_database(folder.database_path)) as database:
        steps = (CampaignStep(campaign_id=0, position=0, name="serve", kind="serve"),)
        campaign = Campaign(name="c", folder=str(tmp_path), specification=stored(wanted), created_at=0.0)
        step = read_campaign_steps(database, add_campaign(database, campaign, steps))[0]
        order = Order(kind="jobs.launch", arguments={"argv": ["true"], "name": "x"})
        with pytest.raises(Killing):
            begin(database, context, {"jobs.launch": launched_then_killed}, step, order)
        assert read_jobs(database) == [] and read_campaign_steps(database, step.campaign_id) == (step,)
        assert begin(database, context, {"jobs.launch": launch}, step, order)
        after = read_campaign_steps(database, step.campaign_id)[0]
        assert [job.id for job in read_jobs(database)] == list(after.job_ids) and after.state == "running"
        assert not begin(database, context, {"jobs.launch": launch}, step, order), "it has begun already"
        assert len(read_jobs(database)) == 1


@pytest.mark.train
@pytest.mark.timeout(900)
def test_killed_while_it_trains_it_goes_on(killed: Killed, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    arguments = '["--steps", "3", "--depth", "2", "--max-length", "64", "--threads", "1"]'
    killed.start(write_files(tmp_path, f"[train]\nsamples = [2]\nuntrained = true\narguments = {arguments}\n"))
    campaign, steps = killed.run(800)
    assert campaign.state == "done", (campaign.message, [(step.name, step.state, step.message) for step in steps])
    assert {"train-untrained", "train-2", "measure"} <= set(killed.killed_at)
    assert [step.attempts for step in steps] == [1] * len(steps)
    trained = next(step for step in steps if step.name == "train-2")
    assert trained.figures["steps"] == 3 and Path(trained.outputs["checkpoint"]).is_dir()
    assert trained.digests["checkpoint"] and trained.inputs["train"].endswith("train.jsonl")
