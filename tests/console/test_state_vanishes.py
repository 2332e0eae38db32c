"""A state folder that goes away while the console is open: it says so once, also behind a dialog, and goes on after."""

from pathlib import Path

from tests.console.seeded import console, ready, seed, text_of
from widgets.confirmation import Confirmation

UNREADABLE = "state cannot be read"


async def test_what_is_shown_is_marked_as_old_until_the_folder_is_back(tmp_path: Path) -> None:
    folder = seed(tmp_path / "state")
    app = console(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await ready(pilot, lambda: "jobs" in app.records)
        app.push_screen(Confirmation("Stop it?", ["It stops."]))
        folder.path.rename(tmp_path / "away")
        await ready(pilot, lambda: UNREADABLE in text_of(app))
        assert isinstance(app.screen, Confirmation)
        (tmp_path / "away").rename(folder.path)
        await ready(pilot, lambda: "engine up" in text_of(app))
        assert len([one for one in app._notifications if "cannot use" in one.message]) == 1
