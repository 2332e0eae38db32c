"""A console on a state that holds nothing says on every screen what to do, and one key does the obvious thing."""

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.screens.recipe_choice import RecipeChoiceScreen
from console.screens.table import SCREENS
from tests.console.seeded import console, empty
from tests.limits import LIMIT_S

WORDS = {
    "overview": "n to launch", "servers": "n: launch one", "jobs": "Press n", "regenerations": "n: launch one",
    "bench": "n: launch one", "data": "n: send", "campaign": "alula campaign start", "alerts": "Nothing is wrong",
    "gpus": "No", "check": "Enter checks",
}  # fmt: skip


def drawn(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


@pytest.mark.parametrize("name", SCREENS)
async def test_it_says_what_to_do(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "state"))
    app = console(empty(tmp_path / "state"))
    async with app.run_test(size=(100, 30)) as pilot, asyncio.timeout(LIMIT_S):
        await app.run_action(f"show('{name}')")
        while WORDS[name] not in drawn(pilot):
            await pilot.pause(0.05)


@pytest.mark.parametrize(("name", "kind"), [("servers", "serve"), ("regenerations", "regen"), ("bench", "bench")])
async def test_n_offers_the_recipes_that_start_one(name: str, kind: str, tmp_path: Path) -> None:
    app = console(empty(tmp_path / "state"))
    async with app.run_test(size=(100, 30)) as pilot, asyncio.timeout(LIMIT_S):
        await app.run_action(f"show('{name}')")
        await pilot.pause()
        await pilot.press("n")
        while not (isinstance(app.screen, RecipeChoiceScreen) and app.screen.table.selected is not None):
            await pilot.pause(0.05)
        assert app.screen.table.selected.kind == kind
