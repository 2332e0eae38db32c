"""Columns of the table of regenerations."""

import time

from textual.content import Content

from state.records.views import RegenerationRow
from widgets import figures
from widgets.columns import Column
from widgets.regeneration.pane import STATE_STYLES

REGENERATION_COLUMNS: tuple[Column[RegenerationRow], ...] = (
    Column("Run", lambda row: row.run.name, 20, grows=True, sort_key=lambda row: row.run.name),
    Column(
        "State",
        lambda row: Content.styled(row.run.state, STATE_STYLES.get(row.run.state, "")),
        8,
        sort_key=lambda row: row.run.state,
    ),
    Column("Done", lambda row: _done(row), 17, "right", sort_key=lambda row: row.progress.done if row.progress else 0),
    Column("Failed", lambda row: figures.count(row.progress.failed if row.progress else None), 6, "right", 2),
    Column("Now", lambda row: figures.rate(_now(row)), 11, "right", 1),
    Column("Left", lambda row: figures.duration(_left(row)), 11, "right", 0, sort_key=lambda row: _left(row)),
    Column("Server", lambda row: row.run.server_url, 24, priority=4),
    Column("Started", lambda row: time.strftime("%a %H:%M", time.localtime(row.run.created_at)), 9, priority=3),
)


def _done(row: RegenerationRow) -> str:
    return f"{figures.count(row.progress.done if row.progress else 0)}/{figures.count(row.run.total)}"


def _now(row: RegenerationRow) -> float | None:
    return row.progress.tokens_per_s_now if row.progress and row.run.state == "running" else None


def _left(row: RegenerationRow) -> float | None:
    return row.progress.eta_s if row.progress and row.run.state == "running" else None
