"""Keys that arrive together, as a paste or over a slow line, go where each would have gone if typed slowly."""

import time
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from console.app import Console
from tests.console.seeded import console, ready, seed

KEYS = {"/": "slash", "-": "minus", ":": "colon", " ": "space"}


@pytest.fixture
def app(tmp_path: Path) -> Console:
    """The console on a busy host."""
    return console(seed(tmp_path / "state"))


async def on_jobs(pilot: Pilot[None]) -> None:
    """Go to the jobs, and wait for them."""
    await pilot.press("4")
    await ready(pilot, lambda: "jobs" in pilot.app.records)  # type: ignore[attr-defined]


def burst(app: Console, text: str) -> None:
    """All keys of a text, before the first is looked at."""
    for letter in text:
        app.post_message(events.Key(KEYS.get(letter, letter), letter))


async def test_what_follows_the_filter_key_is_typed_into_the_filter(app: Console) -> None:
    async with app.run_test() as pilot:
        await on_jobs(pilot)
        burst(app, "/Dxjy-1")
        entry = app.screen.query_one("#filter", Input)
        await ready(pilot, lambda: entry.value == "Dxjy-1")
        assert len(app.screen_stack) == 2
        assert app.screen.table.rows == []  # type: ignore[attr-defined]


async def test_a_paste_that_follows_the_filter_key_is_not_lost(app: Console) -> None:
    async with app.run_test() as pilot:
        await on_jobs(pilot)
        burst(app, "/")
        app.post_message(events.Paste("y" * 10_000))
        entry = app.screen.query_one("#filter", Input)
        await ready(pilot, lambda: len(entry.value) == 10_000)
        assert len(app.screen_stack) == 2


async def test_a_key_whose_place_is_gone_holds_up_no_other(app: Console) -> None:
    async with app.run_test() as pilot:
        await on_jobs(pilot)
        app._typed._since = time.monotonic() - 60
        await pilot.press("7")
        await ready(pilot, lambda: type(app.screen).__name__ == "AlertsScreen")
