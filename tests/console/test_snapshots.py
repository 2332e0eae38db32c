"""What every screen looks like, at three sizes and in other colours, with the clock standing still."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app import Console
from tests.console.seeded import console, seed

NOW = 1_790_000_000.0
SIZES = ((80, 24), (120, 40), (200, 60))
SCREENS = {"overview": "1", "gpus": "2", "servers": "3", "jobs": "4", "regenerations": "5", "alerts": "7"}

Compare = Callable[..., bool]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console on a busy host, in UTC, at one moment."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: NOW)
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
        deadline = time.monotonic() + 30.0
        while not wanted <= app.records.keys():
            assert time.monotonic() < deadline, f"missing: {wanted - app.records.keys()}"
            await pilot.pause(0.02)
        await pilot.pause()

    return going


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen(name: str, size: tuple[int, int], app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=size, run_before=shown(SCREENS[name]))


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
def test_the_overview_in_another_theme(theme: str, app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=(120, 40), run_before=shown("1", theme))


def test_the_overview_without_colours(
    tmp_path: Path, app: Console, snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Console(app.folder, start_engine=False)
    assert plain.no_color
    assert snap_compare(plain, terminal_size=(120, 40), run_before=shown("1"))
