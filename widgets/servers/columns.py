"""Columns of the table of servers."""

import time

from textual.content import Content

from state.records.servers import ServerSample
from state.records.views import ServerRow
from widgets import figures
from widgets.columns import Column
from widgets.history import trend_cell

STALE_S = 10.0
TREND_CELLS = 8
NO_DRAFT_ACCEPTED = 1.05
"""An accept length below this means that speculation costs and gives nothing."""

_HEALTH_STYLES = {"up": "$success", "starting": "$warning", "down": "$error", "unreadable": "$error"}


def accept_length(row: ServerRow) -> Content:
    """The accept length, marked where no draft token is accepted."""
    value = _sample(row).accept_length
    text = figures.fixed(value, 2)
    return Content.styled(f"! {text}", "$error") if value is not None and value < NO_DRAFT_ACCEPTED else Content(text)


def _health(row: ServerRow) -> Content:
    sample = row.sample
    if row.server.health == "up" and sample is not None and (age_s := time.time() - sample.taken_at) > STALE_S:
        return Content.styled(figures.age(age_s), "$warning")
    return Content.styled(row.server.health, _HEALTH_STYLES[row.server.health])


def _sample(row: ServerRow) -> ServerSample:
    """What a server told last; of one that is away that says nothing any more."""
    told = row.sample if row.server.health != "down" else None
    return told or ServerSample(url=row.server.url, taken_at=0)


def _short(path: str | None) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] if path else figures.ABSENT


SERVER_COLUMNS: tuple[Column[ServerRow], ...] = (
    Column("Server", lambda row: row.server.url.removeprefix("http://"), 16, sort_key=lambda row: row.server.url),
    Column("State", _health, 9),
    Column("Model", lambda row: _short(row.server.model), 9, priority=1, grows=True),
    Column("Algorithm", lambda row: row.server.speculative_algorithm or figures.ABSENT, 9, priority=2),
    Column("Accept", accept_length, 7, "right", sort_key=lambda row: _sample(row).accept_length),
    Column("Tokens/s", lambda row: figures.rate(_sample(row).tokens_per_s, ""), 8, "right",
           sort_key=lambda row: _sample(row).tokens_per_s),
    Column("Trend", lambda row: trend_cell(row.trend, TREND_CELLS, None), TREND_CELLS, priority=2),
    Column("Run", lambda row: figures.count(_sample(row).running_requests), 5, "right", 3),
    Column("Queue", lambda row: figures.count(_sample(row).queued_requests), 5, "right", 4),
    Column("KV", lambda row: figures.share(_sample(row).token_usage), 5, "right", 5),
    Column("Cache", lambda row: figures.share(_sample(row).cache_hit_rate), 5, "right", 9),
    Column("TTFT p50", lambda row: figures.milliseconds(_sample(row).ttft_p50_s), 8, "right", 7),
    Column("p95", lambda row: figures.milliseconds(_sample(row).ttft_p95_s), 7, "right", 8),
    Column("ITL p50", lambda row: figures.milliseconds(_sample(row).itl_p50_s), 7, "right", 6),
    Column("p95", lambda row: figures.milliseconds(_sample(row).itl_p95_s), 7, "right", 8),
)  # fmt: skip
