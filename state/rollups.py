"""Samples of one second become means of ten seconds (kept a day) and of a minute (kept thirty days)."""

import sqlite3
from collections.abc import Sequence

import msgspec

RAW_KEPT_S = 3600
"""How long samples of one second are kept."""
SPANS = ((10, 86_400), (60, 30 * 86_400))
"""Roll-ups: seconds in one row, and seconds that rows are kept."""
_REASON_BITS = tuple(1 << bit for bit in range(9))


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A table of samples and how its columns are rolled up. Its roll-ups are `TABLE_10s` and `TABLE_60s`."""

    table: str
    key: str | None = None
    """Column that tells one subject's samples from another's."""
    means: tuple[str, ...] = ()
    precise_means: tuple[str, ...] = ()
    """Means that are not rounded to whole numbers."""
    maxima: tuple[str, ...] = ()
    bit_sets: tuple[str, ...] = ()


def roll_up(connection: sqlite3.Connection, series: Series, since: float, now: float) -> None:
    """Write the roll-ups that ended between `since` and `now`, and drop what is older than it is kept.

    A row that stands already is left alone, so it does no harm to begin too early.
    """
    source = series.table
    for span, _kept in SPANS:
        begin, end = since // span * span, now // span * span
        connection.execute(_roll_up_statement(series, source, f"{series.table}_{span}s", span), (begin, end))
        source = f"{series.table}_{span}s"
    for table, kept in tables_by_age(series.table):
        connection.execute(f"DELETE FROM {table} WHERE taken_at < ?", (now - kept,))


def tables_by_age(table: str) -> Sequence[tuple[str, float]]:
    """The table of samples and its roll-ups, finest first, each with the seconds that its rows are kept."""
    return [(table, RAW_KEPT_S), *((f"{table}_{span}s", kept) for span, kept in SPANS)]


def table_for(table: str, age_s: float) -> str:
    """The finest of the tables that still holds rows of this age; the coarsest for what is older than all."""
    return next((name for name, kept in tables_by_age(table) if age_s <= kept), f"{table}_{SPANS[-1][0]}s")


def _roll_up_statement(series: Series, source: str, target: str, span: int) -> str:
    expressions = {column: f"CAST(ROUND(AVG({column})) AS INTEGER)" for column in series.means}
    expressions |= {column: f"ROUND(AVG({column}), 4)" for column in series.precise_means}
    expressions |= {column: f"MAX({column})" for column in series.maxima}
    for column in series.bit_sets:
        expressions[column] = " + ".join(f"MAX({column} & {bit})" for bit in _REASON_BITS)
    key, grouping = (f"{series.key}, ", f"{series.key}, ") if series.key else ("", "")
    return f"""
        INSERT OR IGNORE INTO {target} ({key}taken_at, {", ".join(expressions)})
        SELECT {key}CAST(taken_at / {span} AS INTEGER) * {span} AS begun, {", ".join(expressions.values())}
        FROM {source} WHERE taken_at >= ? AND taken_at < ? GROUP BY {grouping}begun"""
