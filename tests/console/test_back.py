"""Escape closes details, whatever list they were opened from; what is closed is let go."""

import gc
import time
from pathlib import Path

import pytest
from textual._styles_cache import StylesCache

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


async def test_what_was_drawn_of_screens_that_were_left_is_let_go(tmp_path: Path) -> None:
    def drawings() -> int:
        gc.collect()
        return sum(isinstance(one, StylesCache) for one in gc.get_objects())

    app = console(seed(tmp_path / "state", gpus=2, jobs=3))
    async with app.run_test(size=(80, 24)) as pilot:
        counts = []
        for _ in range(2):
            for key in "2348":
                await pilot.press(key)
                await pilot.pause()
            counts.append(drawings())
    assert counts[1] < counts[0] + 8, counts
