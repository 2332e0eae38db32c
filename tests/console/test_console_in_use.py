"""The console as an operator uses it: screens, keys, filter, details, actions, and what goes wrong."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.actions import ACTIONS
from console.app import Console
from console.screens.frame import FrameScreen
from console.screens.table import SCREENS
from state.commands import open_commands
from state.database import open_database
from state.folder import StateFolder
from state.jobs import add_job
from state.records.commands import Command
from state.records.jobs import Job
from tests.console.seeded import console, empty, seed, text_of
from tests.limits import LIMIT_S
from widgets.key_help import KeyHelp
from widgets.pane import Pane
from widgets.table import Table

SIZES = [(80, 24), (120, 40), (200, 60), (60, 15)]


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        await pilot.pause(0.05)


async def known(pilot: Pilot[None], app: Console, *topics: str) -> None:
    await until(pilot, lambda: all(topic in app.records for topic in topics), f"topics {topics}")
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", "1234567")
async def test_every_screen_draws_at_every_size(tmp_path: Path, key: str, size: tuple[int, int]) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=size) as pilot:
        await pilot.press(key)
        screen = app.screen
        assert isinstance(screen, FrameScreen)
        await known(pilot, app, *screen.TOPICS)
        assert screen.TITLE_TEXT in text_of(app)
        assert len(text_of(app).splitlines()) == size[1]


async def test_the_overview_shows_what_matters(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await known(pilot, app, "alerts", "gpus", "host", "open_jobs", "regenerations", "servers", "engine")
        await until(pilot, lambda: "regen-kimi" in text_of(app), "the regeneration")
        text = text_of(app)
    for part in ("GPU 3 slows down from heat", "cpu", "118/141 GiB", "EAGLE3", "2.1", "left 15 h", "engine up"):
        assert part in text, text


@pytest.mark.parametrize("key", "1234567")
async def test_an_empty_state_explains_itself(tmp_path: Path, key: str) -> None:
    app = console(empty(tmp_path / "state"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: "engine down" in text_of(app), "the engine's state")
        assert "press e" in text_of(app)


@pytest.mark.parametrize("name", sorted(SCREENS))
async def test_no_key_of_the_table_breaks_a_screen(tmp_path: Path, name: str) -> None:
    """Each key that the footer or help of a screen names can be pressed there."""
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        app.action_show(name)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, FrameScreen)
        places = {*screen.PLACES, "everywhere"}
        for action in ACTIONS:
            first = action.keys.split(",")[0]
            if action.where in places and first not in ("q", "e", "enter"):
                await pilot.press(first)
                await pilot.pause()
                await pilot.press("escape")
                await pilot.pause()
                app.action_show(name)
                await pilot.pause()
        assert isinstance(app.screen, FrameScreen) and app.screen.TITLE_TEXT == screen.TITLE_TEXT


async def test_help_lists_the_keys_that_work_here(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("4", "question_mark")
        await until(pilot, lambda: isinstance(app.screen, KeyHelp), "the help")
        await pilot.pause()
        text = text_of(app)
        for action in ACTIONS:
            if action.where in ("jobs", "lists"):
                assert action.meaning[:20] in text, action
        await pilot.press("escape")
        assert isinstance(app.screen, FrameScreen)


async def test_a_filter_narrows_and_escape_ends_it(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        table = app.screen.query_one("#table", Table)
        before = len(table.rows)
        await pilot.press("slash", *"job-17", "enter")
        await pilot.pause()
        assert [row.name for row in table.rows] == ["job-17"]
        await pilot.press("escape")
        await pilot.pause()
        assert len(table.rows) == before


async def test_enter_opens_a_job_with_its_log_and_escape_goes_back(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state", jobs=0)
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    (run_folder / "log.txt").write_text("first line\nstep 5/10\n\x1b[31mred\x1b[0m [bold]not markup[/bold]\n")
    _add(folder, "training", run_folder)
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: any(job.name == "training" for job in app.records.get("jobs", ())), "the job")
        await pilot.pause()
        app.screen.query_one("#table", Table).filter("training")
        await pilot.press("enter")
        await until(pilot, lambda: "first line" in text_of(app), "the log")
        assert "[bold]not markup[/bold]" in text_of(app)
        assert "\x1b" not in text_of(app)
        with (run_folder / "log.txt").open("a") as log:
            log.write("written later\n")
        await until(pilot, lambda: "written later" in text_of(app), "what was appended")
        await pilot.press("escape")
        assert app.screen.query("#table")


async def test_stopping_a_job_asks_first_and_then_asks_the_engine(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state")
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        table = app.screen.query_one("#table", Table)
        table.filter("regen-kimi")
        await pilot.press("x")
        await until(pilot, lambda: "SIGTERM" in text_of(app), "the question")
        await pilot.press("n")
        assert _commands(folder) == []
        await pilot.press("x")
        await pilot.pause()
        await pilot.press("y")
        await until(pilot, lambda: _commands(folder), "the command")
        (command,) = _commands(folder)
        assert (command.kind, command.arguments) == ("jobs.stop", {"job_id": table.rows[0].id})


async def test_names_from_outside_do_no_harm(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state", jobs=0)
    for name in ("\x1b]0;owned\x07", "[red]markup[/red]", "a\nb\tc", "\u202egnp.exe", "x" * 5000):
        _add(folder, name, tmp_path)
    app = console(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        for key in "14":
            await pilot.press(key)
            await pilot.pause(0.3)
            text = text_of(app)
            assert "\x1b" not in text and "\u202e" not in text
        assert "[red]markup[/red]" in text


async def test_a_storm_of_resizes(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await known(pilot, app, "gpus")
        for width, height in [(80, 24), (60, 15), (20, 5), (1, 1), (250, 80), (40, 10), (120, 40)] * 3:
            await pilot.resize_terminal(width, height)
        await pilot.pause(0.2)
        assert "Overview" in text_of(app)


async def test_held_the_picture_stands_still(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state", jobs=0)
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await known(pilot, app, "jobs")
        await pilot.press("p")
        assert "HELD" in text_of(app)
        _add(folder, "newcomer", tmp_path)
        await until(pilot, lambda: any(job.name == "newcomer" for job in app.records["jobs"]), "the record")
        assert "newcomer" not in text_of(app)
        await pilot.press("p")
        await until(pilot, lambda: "newcomer" in text_of(app), "the row")


async def test_light_and_dark(tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await known(pilot, app, "gpus")
        for _ in range(2):
            dark = app.current_theme.dark
            await pilot.press("t")
            assert app.current_theme.dark is not dark


async def test_the_check_screen_finds_the_incident_and_sees_it_mended(tmp_path: Path) -> None:
    from engine.reference.checkpoint import shipped_draft, shipped_target

    script = tmp_path / "launch.sh"
    command = (
        f"python3 -m sglang.launch_server --model-path {shipped_target()} --speculative-algorithm EAGLE"
        f" --speculative-draft-model-path {shipped_draft()} --speculative-num-steps 3"
        " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n"
    )
    script.write_text(command)
    app = console(seed(tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await pilot.press(*str(script), "enter")
        await until(pilot, lambda: "eagle-flag-on-eagle3-draft" in text_of(app), "the finding")
        await pilot.press("c")
        await until(pilot, lambda: "--speculative-algorithm EAGLE3" in app.clipboard, "the corrected command")
        await pilot.pause(0.5)
        script.write_text(command.replace("EAGLE ", "EAGLE3 "))
        await until(pilot, lambda: "No error" in text_of(app), "the check after the change")


def test_panes_draw_any_width(tmp_path: Path) -> None:
    """Drawing is a pure function of record and size: no size may raise."""
    from console.feed.topics import read_gpus, read_host, read_regenerations
    from widgets.gpus.list import GpuList
    from widgets.host.strip import HostStrip
    from widgets.regeneration.pane import RegenerationPane

    with closing(open_database(seed(tmp_path / "state", gpus=16).database_path)) as database:
        panes: list[Pane[object]] = [GpuList(), HostStrip(), RegenerationPane()]  # type: ignore[list-item]
        records = [read_gpus(database), read_host(database), read_regenerations(database)[0]]
    for pane, record in zip(panes, records, strict=True):
        pane.show(record)
        for width in (1, 2, 10, 40, 79, 80, 109, 110, 120, 250):
            for height in (1, 2, 20):
                assert len(pane.lines(width, height)) <= max(height, 3)


def test_the_screen_needs_no_heavy_library() -> None:
    """What costs time at the start is imported by the function that needs it."""
    code = "import sys, console.app, console.screens.overview\nprint([m for m in sys.modules if m in {heavy}])"
    heavy = {"numpy", "httpx", "aiohttp", "datasets", "pandas", "sqlite_utils", "tokenizers", "psutil", "pynvml"}
    done = subprocess.run(
        [sys.executable, "-c", code.format(heavy=heavy)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "[]"


def _add(folder: StateFolder, name: str, run_folder: Path) -> None:
    job = Job(
        name=name, kind="command", state="done", argv=("true", name), working_dir="/", run_folder=str(run_folder),
        created_at=time.time(),
    )  # fmt: skip
    with closing(open_database(folder.database_path)) as database:
        add_job(database, job)


def _commands(folder: StateFolder) -> list[Command]:
    with closing(open_database(folder.database_path)) as database:
        return open_commands(database)
