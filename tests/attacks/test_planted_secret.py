"""A secret that is given by name reaches the job, and nothing else: not the database, no log, no history, no screen."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import Console
from console.screens.job import JobScreen
from console.screens.job_comparison import JobComparisonScreen
from engine.client import Client
from engine.jobs.secrets import write_secret
from state.folder import StateFolder, state_folder
from tests.console.seeded import console
from tests.console.test_console_in_use import text_of, until

ROOT = Path(__file__).parents[2]
PLANTED, INHERITED, TYPED = "pl4nted-5ecret", "inher1ted-5ecret", "typ3d-0n-the-line"


def holding(folder: Path, text: str) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    }


async def every_look(pilot: Pilot[None], app: Console) -> list[str]:
    """What the screens of jobs show, from the list to the comparison."""
    seen = []
    await pilot.press("4")
    await until(pilot, lambda: len(app.records.get("jobs", ())) >= 2, "the jobs")
    seen.append(text_of(app))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, JobScreen), "the job")
    await pilot.press("i")
    await pilot.pause(0.3)
    seen.append(text_of(app))
    await pilot.press("c")
    await until(pilot, lambda: isinstance(app.screen, JobComparisonScreen), "the comparison")
    seen.append(text_of(app))
    return seen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateFolder]:
    """An engine with one secret in a file, and one in its environment."""
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUN_TOKEN", INHERITED)
    folder = state_folder()
    client = Client(folder)
    client.ensure_engine()
    write_secret(folder.secrets_path, "HUB_TOKEN", PLANTED)
    yield folder
    with suppress(Exception):
        client.ask("engine.stop", {}, timeout_s=30.0)


def alula(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "console", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout + done.stderr


async def test_secrets_reach_the_job_and_nothing_else(folder: StateFolder) -> None:
    script = 'test -n "$HUB_TOKEN" && test -n "$RUN_TOKEN" && echo both are there'
    names = ("--secret", "HUB_TOKEN", "--secret", "RUN_TOKEN")
    for number in ("1", "2"):
        alula("jobs", "launch", "--name", "hub", *names, "--", "sh", "-c", script, "--api-key", TYPED)
        assert alula("jobs", "logs", "-f", number) == "both are there\n"
    shown = [
        alula("jobs", "list", "--json"), alula("jobs", "show", "1"), alula("jobs", "show", "1", "--json"),
        alula("jobs", "secret", "list"), alula("status", "--json"),
        alula("jobs", "launch", "--dry-run", "--env", f"OLD_TOKEN={TYPED}", "--", "sh", "--api-key", TYPED),
    ]  # fmt: skip
    app = console(folder)
    async with app.run_test(size=(160, 50)) as pilot:
        shown += await every_look(pilot, app)
    for secret in (PLANTED, INHERITED, TYPED):
        assert not [text for text in shown if secret in text]
    assert holding(folder.path, PLANTED) == {"secrets/HUB_TOKEN"}
    assert not holding(folder.path, INHERITED)
    assert json.loads(shown[2])["job"]["schedule"]["secrets"] == ["HUB_TOKEN", "RUN_TOKEN"]
