"""What an operator does on the screens of the watch: sort, filter, hold, choose a time window, acknowledge."""

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from textual.widgets import Input

import state.gpus
from console.app import Console
from console.screens.gpu import GpuScreen
from console.screens.history import SPANS
from console.screens.server import ServerScreen
from state.commands import open_commands
from state.database import open_database
from state.records.gpus import GpuSample
from tests.console.seeded import console, seed
from tests.console.test_console_in_use import known, text_of, until
from widgets.columns import Column
from widgets.gpus.columns import GPU_COLUMNS
from widgets.servers.columns import SERVER_COLUMNS
from widgets.table import Table


@pytest.fixture
def app(tmp_path: Path) -> Console:
    return console(seed(tmp_path / "state"))


def table_of(app: Console) -> Table:
    return app.screen.query_one("#table", Table)


@pytest.mark.parametrize(
    ("key", "topic", "columns"), [("2", "gpus", GPU_COLUMNS), ("3", "servers", SERVER_COLUMNS)], ids=["gpus", "servers"]
)
async def test_each_column_sorts_and_turns_round(app: Console, key: str, topic: str, columns: Sequence[Column]) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await known(pilot, app, topic)
        given = list(table_of(app).rows)
        for column in (one for one in columns if one.sort_key is not None):
            await pilot.press("s")
            table = table_of(app)
            assert table.sorted_by is column
            values = [value for row in table.rows if (value := column.sort_key(row)) is not None]
            assert values == sorted(values)
            await pilot.press("S")
            values = [value for row in table.rows if (value := column.sort_key(row)) is not None]
            assert values == sorted(values, reverse=True)
        await pilot.press("s")
        assert list(table_of(app).rows) == given


@pytest.mark.parametrize(
    ("key", "topic", "typed"), [("2", "gpus", "idle"), ("3", "servers", "EAGLE3"), ("7", "alert_history", "GPU")]
)
async def test_a_filter_and_its_opposite_share_the_rows(app: Console, key: str, topic: str, typed: str) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await known(pilot, app, topic)
        everything = len(table_of(app).rows)
        counts = []
        for text in (typed, f"!{typed}"):
            await pilot.press("slash")
            app.screen.query_one("#filter", Input).value = text
            await pilot.press("enter")
            await pilot.pause()
            counts.append(len(table_of(app).rows))
            await pilot.press("escape")
        await pilot.pause()
        assert sum(counts) == everything == len(table_of(app).rows)
        assert everything


def put_sample(app: Console, utilization: float) -> None:
    """A second later every GPU has this utilisation."""
    with closing(open_database(app.folder.database_path)) as database:
        samples = [
            GpuSample(uuid=gpu.uuid, taken_at=time.time() + 1, utilization_percent=utilization)
            for gpu in state.gpus.read_gpus(database)
        ]
        state.gpus.write_samples(database, samples)


async def test_held_a_picture_of_gpus_stands_still(app: Console) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("2")
        await known(pilot, app, "gpus")
        await pilot.press("p")
        assert "HELD" in text_of(app)
        put_sample(app, 73.0)
        await until(pilot, lambda: app.records["gpus"].rows[0].sample.utilization_percent == 73.0, "the record")
        assert "73 %" not in text_of(app)
        await pilot.press("p")
        await until(pilot, lambda: "73 %" in text_of(app), "the new figure")
        assert "HELD" not in text_of(app)


@pytest.mark.parametrize(("key", "topic", "screen"), [("2", "gpus", GpuScreen), ("3", "servers", ServerScreen)])
async def test_the_chart_takes_each_time_window_in_turn(
    app: Console, key: str, topic: str, screen: type[GpuScreen] | type[ServerScreen]
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await known(pilot, app, topic)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, screen), "the details")
        for name, _ in (*SPANS, SPANS[0]):
            await until(pilot, lambda name=name: name in text_of(app), name)  # type: ignore[misc]
            await pilot.press("w")


async def test_only_an_open_alert_can_be_acknowledged(app: Console) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("7")
        await known(pilot, app, "alert_history")
        table = table_of(app)
        opened = next(alert for alert in table.rows if alert.cleared_at is None and alert.acknowledged_at is None)
        assert table.select(table.key(opened))
        await pilot.press("a")
        with closing(open_database(app.folder.database_path)) as database:
            await until(pilot, lambda: open_commands(database), "the engine to be asked")
            (command,) = open_commands(database)
        assert command.kind == "alerts.acknowledge"
        assert command.arguments == {"alert_id": opened.id}
        table.show([msgspec.structs.replace(opened, cleared_at=opened.since + 1)])
        await pilot.pause()
        await pilot.press("a")
        await until(pilot, lambda: any("only an open" in one.message for one in app._notifications), "why not")
