"""Regenerations under way with their progress of the last minutes, for the alert rules."""

import sqlite3

from state import rows
from state.records.regeneration import Regeneration, RegenerationProgress

Trend = tuple[Regeneration, tuple[RegenerationProgress, ...]]


def running_regenerations(connection: sqlite3.Connection, since: float) -> list[Trend]:
    """Each running regeneration and its progress since a time, in time order, the row before that time included."""
    sql = """SELECT * FROM regeneration_progress WHERE run_id = ?1 AND taken_at >=
        COALESCE((SELECT MAX(taken_at) FROM regeneration_progress WHERE run_id = ?1 AND taken_at <= ?2), 0)
        ORDER BY taken_at"""
    return [
        (run, tuple(rows.read(connection, RegenerationProgress, sql, (run.id, since))))
        for run in rows.read(connection, Regeneration, "SELECT * FROM regeneration WHERE state = 'running'")
    ]
