"""The screens of training data as an operator uses them."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from console.app import Console
from console.screens.data_plan import PlanScreen
from console.screens.data_preparation import PreparationScreen
from console.screens.data_samples import SamplesScreen
from console.screens.data_search import CatalogueScreen, SearchScreen
from console.screens.data_set import SetScreen
from engine.data.plan.reading import read_plan
from state.database import open_database
from state.folder import StateFolder, make_private
from tests.console.seeded import text_of
from tests.data.made import write_plan
from tests.data.seeded import add_work
from tests.limits import LIMIT_S
from widgets.confirmation import Confirmation
from widgets.table import Table

SIZES = ((80, 24), (120, 40), (200, 60))
PLAN = 'name = "t"\ntotal = 1000\n' + "".join(
    f'[[source]]\nname = "{name}"\npath = "{name}.jsonl"\nweight = {weight}\n' for name, weight in (("a", 3), ("b", 1))
)


async def until(pilot: Pilot[None], condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        await pilot.pause(0.05)
    await pilot.pause()


@pytest.fixture
def app(tmp_path: Path) -> Console:
    folder = StateFolder(path=make_private(tmp_path / "state"))
    with closing(open_database(folder.database_path)) as database:
        add_work(database, tmp_path)
    return Console(folder, start_engine=False)


def rows(app: Console) -> int:
    found = app.screen.query("#table")
    return len(found.first(Table).rows) if found else 0


async def opened(pilot: Pilot[None], app: Console, name: str) -> None:
    """Open the row that holds this word."""
    await pilot.press("9")
    await until(pilot, lambda: rows(app) == 3, "rows")
    table = app.screen.query_one("#table", Table)
    table.cursor = next(index for index, row in enumerate(table.rows) if name in repr(row))
    await pilot.press("enter")
    await pilot.pause()


async def test_an_empty_state_says_what_to_press(tmp_path: Path) -> None:
    folder = StateFolder(path=make_private(tmp_path / "state"))
    app = Console(folder, start_engine=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("9")
        await until(pilot, lambda: "data" in app.records, "data")
        assert "n: send ten scouts" in text_of(app)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CatalogueScreen) and rows(app) == 10, "catalogue")
        assert "codeforces" in text_of(app)


@pytest.mark.parametrize("size", SIZES)
async def test_scouts_and_table_and_a_set(app: Console, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app, "mathematics")
        assert isinstance(app.screen, SearchScreen)
        await until(pilot, lambda: "tool-use" in text_of(app), "scouts")
        assert "asking" in text_of(app)
        await pilot.press("escape")
        await opened(pilot, app, "gated")
        await until(pilot, lambda: rows(app) == 3, "sets")
        assert "[bold red]" in text_of(app)
        await pilot.press("enter")
        assert isinstance(app.screen, SetScreen)
        assert "hub: /size" in text_of(app)


@pytest.mark.parametrize("size", SIZES)
async def test_the_funnel_of_a_preparation(app: Console, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app, "FunnelStep")
        assert isinstance(app.screen, PreparationScreen)
        await until(pilot, lambda: "near-duplicates" in text_of(app), "funnel")
        assert "87,000 near duplicate" in text_of(app)


async def test_a_plan_of_a_table_is_changed_and_saved(app: Console, tmp_path: Path) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app, "gated")
        await until(pilot, lambda: rows(app) == 3, "sets")
        await pilot.press("w", "enter")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen), "plan")
        assert "NOT SAVED" in text_of(app)
        assert rows(app) == 2
        for key in ("4", "q", "escape"):
            await pilot.press(key)
            await until(pilot, lambda: "Leave without saving?" in text_of(app), "question")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, PlanScreen), "plan again")
        await pilot.press("ctrl+s")
        await pilot.pause()
        plan = read_plan(tmp_path / "search/plan.toml")
        assert plan.total == 88088
        assert [one.hub for one in plan.source] == ["open-r1/codeforces", "a/gated[bold red]"]


async def test_shares_are_moved_by_keys_and_leaving_asks(app: Console, tmp_path: Path) -> None:
    from console.screens.data_plan import open_plan

    path = write_plan(tmp_path, PLAN)
    async with app.run_test(size=(120, 40)) as pilot:
        open_plan(app, path)
        await until(pilot, lambda: isinstance(app.screen, PlanScreen) and rows(app) == 2, "plan")
        await pilot.press("minus", "minus", "plus", "j", "plus")
        screen = app.screen
        assert isinstance(screen, PlanScreen)
        assert [round(row.records or 0) for row in screen.table.rows] == [730, 270]
        await pilot.press("T", *"10000", "enter")
        await pilot.pause()
        assert screen.plan.total == 10000
        await pilot.press("escape")
        assert isinstance(app.screen, Confirmation)
        await pilot.press("n")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert read_plan(path).total == 10000
        assert path.with_name("plan.toml.before").read_text() == PLAN
        await pilot.press("enter", *"40", "enter")
        await pilot.pause()
        assert [row.records for row in screen.table.rows] == [6000, 4000]
        await pilot.press("d")
        assert rows(app) == 1
        await pilot.press("u", "u")
        assert [row.records for row in screen.table.rows] == [7300, 2700]
        await pilot.press("ctrl+g")
        assert isinstance(app.screen, Confirmation)


async def test_samples_cannot_touch_the_terminal(app: Console, tmp_path: Path) -> None:
    output = tmp_path / "out"
    work = output / "work"
    work.mkdir(parents=True)
    evil = "\x1b[2J\x1b]52;c;ZXZpbA==\x07[red]\u202eevil\x00\r\nsecond line"
    record = {"id": "a:1", "messages": [{"role": "user", "content": evil}], "language": "en", "domain": "code"}
    (work / "000-000000.jsonl").write_bytes(msgspec.json.encode(record) + b"\n")
    sample = {"source": "a", "row": 3, "message": "not JSON", "text": "{\x1b[31m"}
    tally = {"rows": 2, "steps": {}, "dropped": {}, "samples": {"broken_json": [sample]}, "bad_rows": 1}
    (work / "000-000000.json").write_bytes(msgspec.json.encode(tally))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app, "FunnelStep")
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, SamplesScreen) and rows(app) == 2, "samples")
        shown = text_of(app)
        assert "[red]evil" in shown
        assert "second line" in shown
        assert not {"\x1b", "\x00", "\x07", "\u202e"} & set(shown)
        await pilot.press("j")
        await pilot.pause()
        assert "a row 3" in text_of(app)


async def test_the_document_is_written_from_its_key(app: Console, tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app, "FunnelStep")
        await pilot.press("d")
        await until(pilot, lambda: (tmp_path / "out/train_plan_v1.md").exists(), "document")
    assert "88,088" in (tmp_path / "out/train_plan_v1.md").read_text()
