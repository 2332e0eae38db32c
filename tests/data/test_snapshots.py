"""What the screens of training data look like at three sizes, with the clock standing still."""

import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app import Console
from state.database import open_database
from state.folder import StateFolder, make_private
from tests.console.seeded import stand_still, text_of
from tests.data.made import write_plan
from tests.data.seeded import NOW, add_work
from tests.limits import LIMIT_S

SIZES = ((80, 24), (120, 40), (200, 60))
PLAN = 'name = "campaign"\ntotal = 88088\n' + "".join(
    f'[[source]]\nname = "{name}"\nhub = "owner/{name}"\ndomain = "{domain}"\n{part}\n'
    for name, domain, part in (
        ("verifiable-coding-problems", "coding challenges", "weight = 0.45"),
        ("codeforces", "competitive programming", "weight = 0.3"),
        ("ultrachat", "general chat", "weight = 0.2"),
        ("own-traffic", "agentic coding", "quota = 4800"),
    )
)
VIEWS = {"list": ((), "1 of 3 scouts back"), "scouts": (("enter",), "asking"), "funnel": (("j", "enter"), "wanted"),
         "table": (("G", "enter"), "codeforces")}  # fmt: skip


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    stand_still(monkeypatch, NOW)
    folder = StateFolder(path=make_private(tmp_path / "state"))
    with closing(open_database(folder.database_path)) as database:
        add_work(database, Path("/srv/campaign"))
    made = Console(folder, start_engine=False)
    made.animation_level = "none"
    return made


def view(keys: tuple[str, ...], text: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def going(pilot: Pilot[Any]) -> None:
        await pilot.press("9")
        await until_said(pilot, "1 of 3 scouts back")
        await pilot.press(*keys)
        await until_said(pilot, text)
        await until_said(pilot, "engine down")

    return going


async def until_said(pilot: Pilot[Any], text: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while text not in text_of(pilot.app):
        assert time.monotonic() < deadline, f"never said: {text}"
        await pilot.pause(0.05)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", VIEWS)
def test_a_view(name: str, size: tuple[int, int], app: Console, snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app, terminal_size=size, run_before=view(*VIEWS[name]))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_plan(
    size: tuple[int, int], app: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snap_compare: Any
) -> None:
    from console.screens.data_plan import open_plan

    monkeypatch.chdir(tmp_path)
    write_plan(tmp_path, PLAN)

    async def editing(pilot: Pilot[Any]) -> None:
        open_plan(app, Path("plan.toml"))
        await until_said(pilot, "codeforces")
        await pilot.press("plus")
        await until_said(pilot, "engine down")

    assert snap_compare(app, terminal_size=size, run_before=editing)
