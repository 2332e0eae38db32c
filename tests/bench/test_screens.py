"""The Bench screen and one benchmark's own, on a state folder with two benchmarks in it."""

import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from console.app import Console
from console.screens.bench import BenchScreen
from console.screens.bench_run import BenchRunScreen, speeds_over_concurrency
from engine.bench.cells import COMPARISON, write_json
from engine.bench.comparison import compare_folder
from engine.bench.plans import write_plan
from engine.bench.records import Load
from state.bench import add_bench, write_bench_progress
from state.database import open_database
from state.records.bench import Bench, BenchProgress
from tests.bench.test_comparison import cell, plan, provenance
from tests.console.seeded import console, ready, seed, stand_still

NOW = 1_790_000_000.0
SIZES = ((80, 24), (120, 40), (200, 60))


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console in UTC at one moment; its folder has a fixed name, since screens show it."""
    import shutil

    path = Path("/tmp/alula-test-bench-screens") / str(time.monotonic_ns())
    stand_still(monkeypatch, NOW)
    folder = path / "run"
    write_plan(folder, plan("baseline", "eagle3-s3", "eagle"))
    cell(folder, "baseline", 90.0)
    cell(folder, "eagle3-s3", 99.0, 2.5)
    cell(folder, "eagle", 50.5, 1.0)
    provenance(folder, "eagle3-s3", steps=1)
    provenance(folder, "eagle", steps=1, void="the checker finds eagle-flag-on-eagle3-draft")
    write_json(folder / COMPARISON, compare_folder(folder))
    state = seed(path / "state", gpus=2, jobs=3)
    with closing(open_database(state.database_path)) as database:
        done = Bench(name="story", kind="sweep", run_folder=str(folder), points=3, cells=3, created_at=NOW - 900,
                     state="done")  # fmt: skip
        add_bench(database, done)
        running = Bench(name="again", kind="run", run_folder="/nowhere", points=2, cells=8, created_at=NOW - 60)
        number = add_bench(database, running)
        for second in range(60):
            write_bench_progress(
                database,
                BenchProgress(
                    bench_id=number, taken_at=NOW - 60 + second, cells_done=3, cell="baseline: measuring 8 at once",
                    requests_done=second, requests_total=80, failed=1, in_flight=8, tokens_per_s_now=500.0 + second,
                    eta_s=125.0,
                ),
            )  # fmt: skip
    made = console(state)
    made.animation_level = "none"
    yield made  # type: ignore[misc]
    shutil.rmtree(path, ignore_errors=True)


def opened(which: int | None) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """The list, and one of its rows opened."""

    async def going(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, Console)
        await app.push_screen(BenchScreen())
        await ready(pilot, lambda: {"benches", "engine"} <= app.records.keys())
        if which is not None:
            screen = app.screen
            assert isinstance(screen, BenchScreen)
            await app.push_screen(BenchRunScreen(app.records["benches"][which]))
            await ready(pilot, lambda: app.screen.query("#comparison"))

    return going


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("name", "which"), [("list", None), ("running", 0)])
def test_a_screen(
    name: str, which: int | None, size: tuple[int, int], app: Console, snap_compare: Callable[..., bool]
) -> None:
    assert snap_compare(app, terminal_size=size, run_before=opened(which))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_comparison_fits_the_screen_and_says_what_follows(app: Console, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await opened(1)(pilot)
        text = str(app.screen.query_one("#comparison", Static).content)
        lines = text.splitlines()
        assert all(word in text for word in ("baseline", "eagle3-s3 *", "pays from accept length", "eagle is void"))
        table = lines[: lines.index("")]
        assert len(table) == 4 and max(map(len, table)) <= size[0] - 4


async def test_a_running_benchmark_can_be_stopped(app: Console) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(0)(pilot)
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, BenchRunScreen), "one that runs in a terminal has no job to stop"


async def test_the_report_is_written_from_the_screen(app: Console) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(1)(pilot)
        screen = app.screen
        assert isinstance(screen, BenchRunScreen)
        folder = Path(screen.row.bench.run_folder)
        paths = [folder / f"report.{ending}" for ending in ("html", "md", "csv", "jsonl")]
        await pilot.press("h")
        await ready(pilot, lambda: all(path.exists() for path in paths))
    assert "<svg" in paths[0].read_text()
    assert all("eagle3-s3" in path.read_text() for path in paths)


def test_speeds_are_charted_over_concurrency_without_what_is_void(tmp_path: Path) -> None:
    loads = (Load(concurrency=1), Load(concurrency=8))
    write_plan(tmp_path, msgspec.structs.replace(plan("baseline", "eagle"), loads=loads))
    for name in ("baseline", "eagle"):
        for load in loads:
            cell(tmp_path, name, 90.0, load=load)
    provenance(tmp_path, "eagle", steps=1, void="simulated acceptance")
    chart = speeds_over_concurrency(compare_folder(tmp_path))
    assert chart is not None and chart.along == "number"
    assert [series.name for series in chart.series] == ["baseline"]
    assert [at for at, _ in chart.series[0].points] == [1.0, 8.0]
