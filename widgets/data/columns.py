"""Columns of the tables of training data: what was begun, scouts, the curated table."""

import time

from textual.content import Content

from state.outside_text import plain_line
from state.records.data import DataSet, DataWork, ScoutProgress, SearchRow
from widgets import figures
from widgets.columns import Column

STATE_STYLES = {
    "running": "$success",
    "asking": "$success",
    "failed": "bold $error",
    "stopped": "$warning",
    "waiting": "$text-muted",
}
ACCESS = {"open": "open", "terms": "accept terms", "request": "ask authors", "private": "private"}


def styled_state(state: str) -> Content:
    """A state in its colour."""
    return Content.styled(state, STATE_STYLES.get(state, ""))


def kind_of(work: DataWork) -> str:
    """`search` or `prepare`."""
    return "search" if isinstance(work, SearchRow) else "prepare"


def name_of(work: DataWork) -> str:
    """The name it was given."""
    return plain_line(work.search.name if isinstance(work, SearchRow) else work.name, 80)


def state_of(work: DataWork) -> str:
    """How it stands."""
    return work.search.state if isinstance(work, SearchRow) else work.state


def progress_of(work: DataWork) -> str:
    """How far it is, or what came of it."""
    if isinstance(work, SearchRow):
        if work.search.state == "done":
            kept = sum(one.kept for one in work.search.sets)
            return f"{kept} of {len(work.search.sets)} sets kept"
        over = sum(one.state in ("done", "failed") for one in work.scouts)
        return f"{over} of {len(work.scouts)} scouts back"
    if work.state == "done" and work.funnel:
        return f"{figures.count(work.funnel[-1].left)} of {figures.count(work.funnel[0].left)} records"
    return f"{figures.count(work.rows_read)} rows"


def now_of(work: DataWork) -> str:
    """What it does, or why it does not."""
    if isinstance(work, SearchRow):
        return plain_line(work.search.message, 200)
    if work.state != "running":
        return plain_line(work.message, 200)
    speed = f", {figures.rate(work.rows_per_s, 'rows/s')}" if work.stage == "reading" else ""
    return plain_line(f"{work.stage or 'waits for its job'}{speed}", 200)


def begun_at(work: DataWork) -> float:
    """UTC seconds."""
    return work.search.created_at if isinstance(work, SearchRow) else work.created_at


WORK_COLUMNS: tuple[Column[DataWork], ...] = (
    Column("What", kind_of, 7, sort_key=kind_of),
    Column("Name", name_of, 16, grows=True, sort_key=name_of),
    Column("State", lambda row: styled_state(state_of(row)), 8, sort_key=state_of),
    Column("Progress", progress_of, 28),
    Column("Now", now_of, 24, priority=2, grows=True),
    Column("Begun", lambda row: time.strftime("%a %H:%M", time.localtime(begun_at(row))), 9, sort_key=begun_at),
)

SCOUT_COLUMNS: tuple[Column[ScoutProgress], ...] = (
    Column("Scout", lambda row: plain_line(row.scout, 60), 30, sort_key=lambda row: row.scout),
    Column("State", lambda row: styled_state(row.state), 8, sort_key=lambda row: row.state),
    Column("Round", lambda row: plain_line(row.round, 30), 10),
    Column("Asked", lambda row: f"{row.asked}/{row.to_ask}", 7, "right"),
    Column("Found", lambda row: figures.count(row.found), 5, "right", sort_key=lambda row: row.found),
    Column("Kept", lambda row: figures.count(row.kept), 4, "right", sort_key=lambda row: row.kept),
    Column("Now", lambda row: plain_line(row.message, 200), 20, priority=1, grows=True),
)


def access_of(one: DataSet) -> Content:
    """Whether it can be read at once."""
    return Content.styled(
        ACCESS.get(one.access, figures.ABSENT), "" if one.access in ("open", "unknown") else "$warning"
    )


def verdict_of(one: DataSet) -> Content:
    """Whether it is kept."""
    if one.benchmark:
        return Content.styled("benchmark", "$warning")
    return Content.styled("kept", "$success") if one.kept else Content.styled("left out", "$text-muted")


SET_COLUMNS: tuple[Column[DataSet], ...] = (
    Column("Set", lambda row: plain_line(row.id, 120), 32, grows=True, sort_key=lambda row: row.id.lower()),
    Column(
        "Domain", lambda row: plain_line(row.domain, 60), 16, priority=1, grows=True, sort_key=lambda row: row.domain
    ),
    Column("Rows", lambda row: figures.count(row.rows), 10, "right", sort_key=lambda row: row.rows),
    Column("Licence", lambda row: plain_line(row.licence or figures.ABSENT, 40), 12, priority=2),
    Column("Access", access_of, 12, priority=3, sort_key=lambda row: row.access),
    Column("Fit", lambda row: f"{row.score:.2f}", 4, "right", sort_key=lambda row: row.score),
    Column("Verdict", verdict_of, 9, sort_key=lambda row: (row.benchmark, not row.kept)),
)
