"""A plan's sources as a table with bars."""

from textual.content import Content

from state.outside_text import plain_line
from state.records.data import PlanPart
from widgets import figures
from widgets.bar import bar
from widgets.columns import Column

BAR_CELLS = 24


def _bar(row: PlanPart) -> Content:
    return bar(None if row.share is None else row.share * 100, BAR_CELLS, "$primary")


def _records(row: PlanPart) -> str:
    return "all" if row.records is None else figures.count(row.records)


PLAN_COLUMNS: tuple[Column[PlanPart], ...] = (
    Column("Source", lambda row: plain_line(row.name, 80), 18, grows=True, sort_key=lambda row: row.name),
    Column("Share of the total", _bar, BAR_CELLS, sort_key=lambda row: row.share),
    Column("Records", _records, 10, "right", sort_key=lambda row: row.records),
    Column("By", lambda row: row.by, 7, priority=1),
    Column("Domain", lambda row: plain_line(row.domain, 60), 16, priority=2, sort_key=lambda row: row.domain),
    Column("Read from", lambda row: plain_line(row.read_from, 120), 24, priority=3, grows=True),
)
