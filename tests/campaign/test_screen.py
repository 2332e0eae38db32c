"""The Campaign screen: empty, in the middle of a campaign, and at its end."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app import Console
from console.screens.campaign import CampaignScreen, heights
from state.campaigns import read_campaigns, update_campaign
from state.database import open_database
from tests.campaign.made import NOW, fill
from tests.console.seeded import console, empty, ready, stand_still

SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Console]:
    stand_still(monkeypatch, NOW)
    made = console(empty(tmp_path / "state"))
    made.animation_level = "none"
    yield made


def shown(app: Console) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def going(pilot: Pilot[Any]) -> None:
        await pilot.press("0")
        await ready(pilot, lambda: {"campaigns", "engine"} <= app.records.keys())
        await pilot.pause()

    return going


def filled(app: Console, done: int, **changes: Any) -> None:
    with closing(open_database(app.folder.database_path)) as database:
        fill(database, Path("/campaigns/story"), done, **changes)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("name", "done"), [("empty", None), ("middle", 3), ("end", 12)])
def test_a_screen(
    name: str, done: int | None, size: tuple[int, int], app: Console, snap_compare: Callable[..., bool]
) -> None:
    if done is not None:
        filled(app, done, state="done" if done > 10 else "running")
    assert snap_compare(app, terminal_size=size, run_before=shown(app))


async def test_the_keys(app: Console) -> None:
    filled(app, 3)
    with closing(open_database(app.folder.database_path)) as database:
        fill(database, Path("/x"), 12, state="done", specification={"name": "second"})
        number = read_campaigns(database)[1].id
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(app)(pilot)
        screen = app.screen
        assert isinstance(screen, CampaignScreen)
        assert screen.view is not None and screen.view.campaign.name == "second"
        await pilot.press("v")
        assert screen.view.campaign.name == "story"
        await pilot.press("x")
        await ready(pilot, lambda: app.screen is not screen)
        await pilot.press("escape")
        await ready(pilot, lambda: app.screen is screen)
        await pilot.press("enter")
        assert app.screen is screen, "a step without a job has nothing to open"
        with closing(open_database(app.folder.database_path)) as database:
            update_campaign(database, number, state="failed", message="2.5 % of the samples failed")
        await ready(pilot, lambda: screen.view is not None and screen.view.campaign.state == "failed")
        await pilot.press("d")
        await ready(pilot, lambda: any("written" in note.message for note in app._notifications))
        await pilot.press("escape")
        await ready(pilot, lambda: app.screen is not screen)


@pytest.mark.parametrize("lines", range(6, 70))
def test_some_steps_can_be_seen_at_every_height(lines: int) -> None:
    funnel, outlook = heights(lines, 12, 13, 11)
    assert funnel >= 4 and outlook >= 3
    assert lines < 20 or lines - 4 - funnel - outlook >= 4
