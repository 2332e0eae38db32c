"""Figures of a job's log as charts: which belong together, and on the screen while the log grows."""

import time
from contextlib import closing
from pathlib import Path

from console.app import Console
from console.screens.job import JobScreen
from console.screens.job_charts import broken, charts_of, heading, record_of
from console.screens.job_metrics import JobMetrics
from engine.jobs.log_series import LogMetrics
from engine.jobs.recipes.log_patterns import patterns_of, units_of
from engine.jobs.recipes.reading import read_recipe
from state.database import open_database
from state.jobs import add_job
from state.records.jobs import Job
from tests.console.seeded import console, empty
from tests.console.test_console_in_use import until

DECODE = (
    "[2026-12-01 10:00:{second:02d} DP{rank} TP0] Decode batch, #running-req: 4, token usage: 0.05, "
    "accept len: {accept:.2f}, gen throughput (token/s): {speed:.2f}, #queue-req: 3\n"
)
RECIPE = r"""
name = "own"
argv = ["own"]
progress = ['round (?P<done>\d+) of (?P<total>\d+)']
[[metrics]]
name = "reward, mean"
pattern = 'reward (?P<value>[\d.]+)'
unit = "points"
"""


def series(text: str, recipe_text: str = "") -> LogMetrics:
    recipe = read_recipe(recipe_text, "own.toml") if recipe_text else None
    metrics = LogMetrics(patterns_of(recipe))
    metrics.push(text.encode())
    return metrics


def test_ranks_share_a_chart_and_throughput_stands_first() -> None:
    log = "".join(
        DECODE.format(second=second, rank=rank, accept=2.1, speed=80 + rank) for second in range(9) for rank in (0, 1)
    )
    charts = charts_of(series(log).series())
    assert [(one.title, one.unit) for one in charts[:2]] == [
        ("throughput by rank", "tok/s"), ("accept length by rank", "tok"),
    ]  # fmt: skip
    assert [label for label, _ in charts[0].lines] == ["DP0", "DP1"]
    assert heading(charts[0], 0, 5, newest=False, skipped=0) == (
        "throughput by rank, tok/s  last 80 81  whole log  m: 1 of 5"
    )
    assert record_of(charts[0], newest=False).along == "time"


def test_accuracy_by_position_is_one_chart() -> None:
    log = "".join(f"step {step}: {{'loss': 2.5, 'acc_0': 0.5, 'acc_1': 0.4, 'acc_10': 0.1}}\n" for step in (10, 20))
    charts = charts_of(series(log).series())
    assert [one.title for one in charts] == ["loss", "accuracy by position"]
    assert [label for label, _ in charts[1].lines] == ["0", "1", "10"]
    assert record_of(charts[1], newest=True).series[0].points == ((10.0, 0.5), (20.0, 0.5))
    assert record_of(charts[1], newest=True).along == "number"


def test_what_a_recipe_looks_for_has_its_name_and_unit() -> None:
    recipe = read_recipe(RECIPE, "own.toml")
    found = series("round 3 of 12\nreward 1.5\nround 6 of 12\nreward 2.5\n", RECIPE).series()
    charts = {one.title: one for one in charts_of(found, units_of(recipe))}
    assert charts["reward mean"].unit == "points" and charts["reward mean"].lines[0][1].last == 2.5
    assert charts["progress"].lines[0][1].points == ((3.0, 25.0), (6.0, 50.0))


def test_an_idle_server_breaks_the_line() -> None:
    points = [(float(second), 1.0) for second in (0, 1, 2, 3, 100, 101)]
    assert [at for at, value in broken(points) if value is None] == [100.0]
    assert broken([]) == () and broken([(1.0, 2.0)]) == ((1.0, 2.0),)


async def test_charts_come_with_the_log_and_change_by_key(tmp_path: Path) -> None:
    folder, run = empty(tmp_path / "state"), tmp_path / "run"
    run.mkdir()
    log = run / "log.txt"
    log.write_text("starting\n")
    job = Job(name="serve", kind="serve", state="running", argv=("serve",), working_dir="/", run_folder=str(run),
              created_at=time.time(), started_at=time.time())  # fmt: skip
    with closing(open_database(folder.database_path)) as database:
        add_job(database, job)
    app: Console = console(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(JobScreen(job))
        chart = app.screen.query_one(JobMetrics)
        await pilot.press("m")
        assert not chart.display
        with log.open("a") as file:
            file.writelines(DECODE.format(second=second, rank=0, accept=2.1, speed=82) for second in range(30))
        await until(pilot, lambda: chart.display, "the chart")
        assert str(chart.border_title).startswith("throughput by rank, tok/s  last 82")
        await pilot.press("m")
        assert str(chart.border_title).startswith("accept length by rank, tok  last 2.1")
        await pilot.press("z")
        assert "newest 30" in str(chart.border_title)
        with log.open("a") as file:
            file.write(DECODE.format(second=40, rank=0, accept=1.0, speed=40))
        await until(pilot, lambda: "last 1 " in str(chart.border_title), "the new value")
        await pilot.press("M", "M")
        assert not chart.display
        await pilot.press("m", "i")
        assert app.screen.has_class("whole")
