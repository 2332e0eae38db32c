"""Makes the pictures of the documents from a seeded state: `python -m tests.console.screenshot docs [NAME ...]`."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from tests.check.models import incident_folder
from tests.console.seeded import console, seed
from tests.limits import LIMIT_S

SIZE = (120, 34)


class Picture(NamedTuple):
    """A file, the keys that lead to its screen, and a text by which that is known to be drawn."""

    file: str
    keys: tuple[str, ...]
    text: str


PICTURES = (
    Picture("overview.svg", (), "GPU"),
    Picture("pictures/check.svg", ("6", *"launch.sh", "enter"), "eagle-flag-on-eagle3-draft"),
    Picture("pictures/server.svg", ("3", "enter"), "accept"),
    Picture("pictures/launch.svg", ("4", "n"), "sglang-eagle3"),
    Picture("pictures/regeneration.svg", ("5", "enter"), "tok/s"),
)


async def draw(picture: Picture, docs: Path) -> None:
    """Write one picture.

    Raises:
        TimeoutError: Its text never stood on the screen.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _incident(folder)
        app = console(seed(folder / "state"))
        app.animation_level = "none"
        async with app.run_test(size=SIZE) as pilot, asyncio.timeout(LIMIT_S):
            await _settled(pilot, "")
            await pilot.press(*picture.keys)
            await _settled(pilot, picture.text)
            target = docs / picture.file
            target.parent.mkdir(exist_ok=True)
            target.write_text(app.export_screenshot(title="alula"))


def _incident(folder: Path) -> None:
    """A launch whose flag does not fit its draft, in the working folder, so that no path is shown in full."""
    os.chdir(folder)
    incident_folder(folder)
    command = "python3 -m sglang.launch_server --model-path target --speculative-algorithm EAGLE "
    (folder / "launch.sh").write_text(f"{command} --speculative-draft-model-path draft --port 30000\n")


async def _settled(pilot: Pilot[None], text: str) -> None:
    while "regenerations" not in pilot.app.records or text not in _text(pilot):  # type: ignore[attr-defined]
        await pilot.pause(0.1)
    await pilot.pause(0.5)


def _text(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


def main() -> int:
    docs, chosen = Path(sys.argv[1]).absolute(), sys.argv[2:]
    for picture in PICTURES:
        if not chosen or Path(picture.file).stem in chosen:
            asyncio.run(draw(picture, docs))
            print(picture.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
