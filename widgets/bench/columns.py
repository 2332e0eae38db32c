"""Columns of the table of benchmarks."""

import time

from textual.content import Content

from state.records.bench import BenchRow
from widgets import figures
from widgets.columns import Column

STATE_STYLES = {"running": "$accent", "done": "$success", "stopped": "$warning", "failed": "bold $error"}

BENCH_COLUMNS: tuple[Column[BenchRow], ...] = (
    Column("Benchmark", lambda row: row.bench.name, 20, grows=True, sort_key=lambda row: row.bench.name),
    Column("Kind", lambda row: row.bench.kind, 5, priority=3, sort_key=lambda row: row.bench.kind),
    Column(
        "State",
        lambda row: Content.styled(row.bench.state, STATE_STYLES.get(row.bench.state, "")),
        8,
        sort_key=lambda row: row.bench.state,
    ),
    Column("Points", lambda row: figures.count(row.bench.points), 6, "right", 3, sort_key=lambda row: row.bench.points),
    Column("Done", lambda row: done_words(row), 9, "right"),
    Column("Now", lambda row: figures.rate(speed_now(row)), 11, "right", 1),
    Column("Left", lambda row: figures.duration(left_s(row)), 11, "right", sort_key=lambda row: left_s(row)),
    Column("Says", lambda row: row.bench.message or _doing(row), 30, priority=2, grows=True),
    Column("Started", lambda row: time.strftime("%a %H:%M", time.localtime(row.bench.created_at)), 9, priority=4),
)


def done_words(row: BenchRow) -> str:
    """Measurements done, of all."""
    return f"{row.progress.cells_done if row.progress else 0}/{row.bench.cells}"


def speed_now(row: BenchRow) -> float | None:
    """Tokens a second, while it runs."""
    return row.progress.tokens_per_s_now if row.progress and row.bench.state == "running" else None


def left_s(row: BenchRow) -> float | None:
    """Seconds left, while it runs."""
    return row.progress.eta_s if row.progress and row.bench.state == "running" else None


def _doing(row: BenchRow) -> str:
    return row.progress.cell if row.progress and row.bench.state == "running" else ""
