"""What every screen looks like, at three sizes and in other colours, with the clock standing still."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app import Console
from tests.check.models import incident_folder
from tests.console.seeded import console, seed, stand_still, text_of
from tests.limits import LIMIT_S

NOW = 1_790_000_000.0
SIZES = ((80, 24), (120, 40), (200, 60))
SCREENS = {"overview": "1", "gpus": "2", "servers": "3", "jobs": "4", "regenerations": "5", "alerts": "7"}

Compare = Callable[..., bool]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console on a busy host, in UTC, at one moment."""
    stand_still(monkeypatch, NOW)
    made = console(seed(tmp_path / "state"))
    made.animation_level = "none"
    return made


def shown(key: str, theme: str | None = None) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Goes to a screen and waits until everything that it wants has come."""

    async def going(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Console)
        if theme is not None:
            app.theme = theme
        await pilot.press(key)
        wanted = app.screen.TOPICS | {"engine"}  # type: ignore[attr-defined]
        deadline = time.monotonic() + LIMIT_S
        while not wanted <= app.records.keys():
            assert time.monotonic() < deadline, f"missing: {wanted - app.records.keys()}"
            await pilot.pause(0.02)
        await pilot.pause()

    return going


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(name: str, size: tuple[int, int], app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=size, run_before=shown(SCREENS[name]))


@pytest.mark.parametrize("theme", ["alula-light", "ansi-dark"])
def test_the_overview_in_another_theme(theme: str, app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(120, 40), run_before=shown("1", theme))


def test_the_overview_without_colours(
    tmp_path: Path, app: Console, snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Console(app.folder, start_engine=False)
    assert plain.no_color
    assert snap_compare(plain, terminal_size=(120, 40), run_before=shown("1"))


def opened(key: str, text: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Opens the first row of a list, and waits until its details say this."""

    async def going(pilot: Pilot[Any]) -> None:
        await shown(key)(pilot)
        await pilot.press("enter")
        await until_said(pilot, text)

    return going


async def until_said(pilot: Pilot[Any], text: str) -> None:
    """Wait until the screen says something."""
    deadline = time.monotonic() + LIMIT_S
    while text not in text_of(pilot.app):
        assert time.monotonic() < deadline, f"never said: {text}"
        await pilot.pause(0.05)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("name", "key", "text"), [("gpu", "2", "NVLink"), ("server", "3", "accept")])
def test_details(name: str, key: str, text: str, size: tuple[int, int], app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=size, run_before=opened(key, text))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_check(
    size: tuple[int, int], app: Console, snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The incident; paths are relative, so that they are the same in every run."""
    incident_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = "python3 -m sglang.launch_server --model-path target --speculative-algorithm EAGLE "
    (tmp_path / "launch.sh").write_text(f"{command} --speculative-draft-model-path draft --port 30000\n")

    async def checking(pilot: Pilot[Any]) -> None:
        await pilot.press("6", *"launch.sh", "enter")
        await until_said(pilot, "eagle-flag-on-eagle3-draft")

    assert snap_compare(app, terminal_size=size, run_before=checking)


@pytest.mark.parametrize("count", [16, 24])
def test_the_overview_with_many_gpus(count: int, tmp_path: Path, app: Console, snap_compare: Compare) -> None:
    many = console(seed(tmp_path / "many", gpus=count))
    many.animation_level = app.animation_level
    assert snap_compare(many, terminal_size=(80, 40), run_before=shown("1"))
