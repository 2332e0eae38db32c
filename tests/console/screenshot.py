"""Makes the README's picture: `python -m tests.console.screenshot docs/overview.svg`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.console.seeded import console, seed


async def picture(target: Path) -> None:
    """The overview at 120x34."""
    with tempfile.TemporaryDirectory() as folder:
        app = console(seed(Path(folder) / "state"))
        async with app.run_test(size=(120, 34)) as pilot:
            while "regenerations" not in app.records:
                await pilot.pause(0.1)
            await pilot.pause(0.5)
            target.write_text(app.export_screenshot(title="alula"))  # noqa: ASYNC240 - nothing else runs


if __name__ == "__main__":
    asyncio.run(picture(Path(sys.argv[1])))
