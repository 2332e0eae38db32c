"""Escape closes details, whatever list they were opened from."""

import time
from pathlib import Path

import pytest

from tests.console.seeded import console, seed
from tests.limits import LIMIT_S


@pytest.mark.parametrize("key", ["2", "3", "4"])
async def test_escape_goes_back_to_the_list(key: str, tmp_path: Path) -> None:
    app = console(seed(tmp_path / "state", gpus=2, jobs=3))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        deadline = time.monotonic() + LIMIT_S
        while len(app.screen_stack) < 3:
            assert time.monotonic() < deadline
            await pilot.press("enter")
            await pilot.pause(0.1)
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 2
