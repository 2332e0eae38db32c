"""Launching by the form, by keys only, with a real engine where it matters."""

import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import console.screens.launch
from console.app import Console
from console.screens.job_comparison import JobComparisonScreen
from console.screens.jobs import JobsScreen
from console.screens.launch import LaunchScreen
from engine.client import Client
from state.database import open_database
from state.folder import StateFolder, state_folder
from state.jobs import add_job, read_jobs
from state.records.jobs import Job
from tests.console.seeded import console as seeded_console
from tests.console.seeded import empty, seed
from tests.console.test_console_in_use import known, text_of, until
from widgets.form_line import FormLine
from widgets.table import Table


def field(app: Console, key: str) -> FormLine:
    return next(line for line in app.screen.query(FormLine) if line.key == key)


async def open_form(pilot: Pilot[None], app: Console, name: str) -> LaunchScreen:
    await pilot.press("4", "n")
    await until(pilot, lambda: app.screen.query("#table") and app.screen.query_one("#table", Table).rows, "recipes")
    await pilot.press("slash", *name, "enter")
    await pilot.pause()
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, LaunchScreen), "the form")
    screen = app.screen
    assert isinstance(screen, LaunchScreen)
    await until(pilot, lambda: screen.looked is not None, "the first look")
    return screen


@pytest.fixture
def own_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALULA_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "recipes"
    folder.mkdir(parents=True)
    return folder


async def test_a_command_from_the_form_to_its_end(
    tmp_path: Path, own_recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    folder = state_folder()
    client = Client(folder)
    client.ensure_engine()
    app = Console(folder, start_engine=False)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await open_form(pilot, app, "command")
            await pilot.press("ctrl+g")
            await until(pilot, lambda: "is required" in text_of(app), "what is missing")
            await pilot.press(*"sh -c 'echo a; exit 0'")
            await until(pilot, lambda: "'echo a; exit 0'" in text_of(app), "the preview")
            await until(pilot, lambda: screen.looked and screen.looked.prepared.launch, "the launch")
            await pilot.press("ctrl+g")
            await until(pilot, lambda: isinstance(app.screen, JobsScreen), "the list")
            await until(pilot, lambda: any(job.state == "done" for job in app.records.get("jobs", ())), "its end")
        with closing(open_database(folder.database_path)) as database:
            (job,) = read_jobs(database)
        assert job.argv == ("sh", "-c", "echo a; exit 0")
        assert (job.recipe, job.parameters) == ("command", {"command": ["sh", "-c", "echo a; exit 0"]})
    finally:
        client.ask("engine.stop", {})


async def test_errors_stand_in_the_way_until_they_are_overridden(tmp_path: Path, own_recipes: Path) -> None:
    app = seeded_console(empty(tmp_path / "state"))
    async with app.run_test(size=(200, 60), notifications=True) as pilot:
        screen = await open_form(pilot, app, "command")
        await pilot.press(*"/no/such/program")
        await until(pilot, lambda: "binary-not-found" in text_of(app), "the error")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "not launched. Mend it" in text_of(app), "why not")
        assert isinstance(app.screen, LaunchScreen)
        field(app, "queue-override").focus_entry()
        await pilot.press(*"binary-not-found")
        await until(pilot, lambda: screen.looked is not None and not screen.looked.standing, "the override")
        assert "overridden" in text_of(app)


async def test_the_checker_speaks_beside_the_command(tmp_path: Path, own_recipes: Path) -> None:
    from engine.reference.checkpoint import shipped_draft, shipped_target

    (own_recipes / "wrong.toml").write_text(
        f'name = "wrong"\nextends = "sglang-eagle3"\n[values]\nalgorithm = "EAGLE"\nmodel = "{shipped_target()}"\n'
        f'draft = "{shipped_draft()}"\n'
    )
    app = seeded_console(empty(tmp_path / "state"))
    async with app.run_test(size=(200, 60)) as pilot:
        await open_form(pilot, app, "wrong")
        await until(pilot, lambda: "eagle-flag-on-eagle3-draft" in text_of(app), "the finding")
        assert "--speculative-algorithm EAGLE" in text_of(app) and "free now" in text_of(app)


async def test_saved_as_a_recipe(tmp_path: Path, own_recipes: Path) -> None:
    (own_recipes / "bad.toml").write_text('name = "bad"\nkind = 3\n')
    app = seeded_console(empty(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4", "n")
        await until(pilot, lambda: "bad.toml:2" in text_of(app), "the mistake")
        await open_form(pilot, app, "command")
        await pilot.press(*"ls -l", "ctrl+s")
        await pilot.pause()
        await pilot.press("ctrl+u", *"listing", "enter")
        await until(pilot, lambda: (own_recipes / "listing.toml").exists(), "the file")
    text = (own_recipes / "listing.toml").read_text()
    assert 'extends = "command"' in text and '"ls"' in text


async def test_again_with_other_parameters_and_side_by_side(tmp_path: Path, own_recipes: Path) -> None:
    folder = seed(tmp_path / "state", jobs=0)
    for concurrency, state in (("1", "done"), ("8", "failed")):
        _add(folder, Job(
            name="alula-bench", kind="bench", state=state, argv=("alula", "--api-key", "sk-1"), working_dir="/",  # type: ignore[arg-type]
            run_folder=str(tmp_path), created_at=time.time(), recipe="alula-bench",
            parameters={"server": "http://h:1", "concurrency": concurrency, "api_key": "sk-2"},
        ))  # fmt: skip
    app = seeded_console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, JobComparisonScreen), "the comparison")
        await pilot.pause()
        rows = app.screen.query_one("#table", Table).rows
        assert [(row.name, row.left, row.right) for row in rows if row.differs and row.section == "parameter"] == [
            ("concurrency", "1", "8")
        ]
        assert "sk-" not in text_of(app)
        await pilot.press("escape", "a")
        await until(pilot, lambda: isinstance(app.screen, LaunchScreen), "the form")
        await pilot.pause()
        assert (field(app, "concurrency").text, field(app, "server").text) == ("8", "http://h:1")


async def test_groups(tmp_path: Path) -> None:
    app = seeded_console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        every = len(app.screen.query_one("#table", Table).rows)
        await pilot.press("v", "v")
        await pilot.pause()
        groups = app.screen.query_one("#groups", Table)
        assert groups.display and sum(group.jobs for group in groups.rows) == every
        await pilot.press("enter")
        await pilot.pause()
        assert len(app.screen.query_one("#table", Table).rows) == groups.rows[0].jobs
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert not groups.display and len(app.screen.query_one("#table", Table).rows) == every


async def test_details_of_a_job_hide_secrets(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state", jobs=0)
    _add(folder, Job(
        name="x", kind="serve", state="done", argv=("serve", "--api-key", "sk-1"), working_dir="/",
        run_folder=str(tmp_path), created_at=time.time(), environment={"A_TOKEN": "sk-2", "PATH": "/bin"},
    ))  # fmt: skip
    app = seeded_console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("i")
        await until(pilot, lambda: "timeline" in text_of(app), "the details")
        text = text_of(app)
        assert "PATH=/bin" in text and "A_TOKEN=" in text and "sk-" not in text


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 10)])
async def test_it_draws_at_every_size(tmp_path: Path, own_recipes: Path, size: tuple[int, int]) -> None:
    app = seeded_console(empty(tmp_path / "state"))
    async with app.run_test(size=size) as pilot:
        await pilot.press("4", "n")
        await until(pilot, lambda: app.screen.query_one("#table", Table).rows, "recipes")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LaunchScreen) and app.screen.looked, "the form")
        await pilot.pause()
        assert str(app.screen.query_one("#problems", Static).render())


async def test_a_host_where_looking_takes_longer_than_the_pause_between_two_looks(
    tmp_path: Path, own_recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 0.6\nexec {sys.executable} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("ALULA_SGLANG_PYTHON", str(slow))
    monkeypatch.setattr(console.screens.launch, "LOOK_AGAIN_S", 0.1)
    app = seeded_console(empty(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await open_form(pilot, app, "bench-serving")
        await until(pilot, lambda: screen.looked and screen.looked.prepared.interpreter, "the interpreter")


def _add(folder: StateFolder, job: Job) -> None:
    with closing(open_database(folder.database_path)) as database:
        add_job(database, job)
