"""Alerts: at most one open for a rule and subject."""

import sqlite3

from state import rows
from state.records.alerts import Alert, Severity

HISTORY_KEPT_S = 90 * 24 * 3600.0


def raise_alert(
    connection: sqlite3.Connection,
    *,
    rule: str,
    subject: str,
    severity: Severity,
    title: str,
    cause: str,
    remedy: str,
    now: float,
) -> None:
    """Open an alert, or say again that it holds: its text follows, `since` and the acknowledgement stay."""
    connection.execute(
        """INSERT INTO alert (rule, subject, severity, title, cause, remedy, since, last_seen_at)
           VALUES (:rule, :subject, :severity, :title, :cause, :remedy, :now, :now)
           ON CONFLICT (rule, subject) WHERE cleared_at IS NULL DO UPDATE SET severity = excluded.severity,
             title = excluded.title, cause = excluded.cause, remedy = excluded.remedy,
             last_seen_at = excluded.last_seen_at""",
        {
            "rule": rule, "subject": subject, "severity": severity, "title": title, "cause": cause, "remedy": remedy,
            "now": now,
        },
    )  # fmt: skip


def clear_alert(connection: sqlite3.Connection, rule: str, subject: str, now: float) -> bool:
    """Close an alert; `False` where none was open."""
    sql = "UPDATE alert SET cleared_at = ? WHERE rule = ? AND subject = ? AND cleared_at IS NULL"
    return connection.execute(sql, [now, rule, subject]).rowcount == 1


def acknowledge_alert(connection: sqlite3.Connection, alert_id: int, now: float) -> bool:
    """Record that somebody has seen it; `False` where there is no such open alert."""
    sql = "UPDATE alert SET acknowledged_at = coalesce(acknowledged_at, ?) WHERE id = ? AND cleared_at IS NULL"
    return connection.execute(sql, [now, alert_id]).rowcount == 1


def open_alerts(connection: sqlite3.Connection) -> list[Alert]:
    """Alerts that hold now: errors first, then the oldest."""
    sql = """SELECT * FROM alert WHERE cleared_at IS NULL
        ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, since"""
    return rows.read(connection, Alert, sql)


def read_alerts(connection: sqlite3.Connection, limit: int = 500) -> list[Alert]:
    """Alerts of now and before, the newest first."""
    return rows.read(connection, Alert, "SELECT * FROM alert ORDER BY id DESC LIMIT ?", [limit])


def prune_alerts(connection: sqlite3.Connection, now: float) -> int:
    """Drop alerts that cleared long ago; returns how many."""
    return connection.execute("DELETE FROM alert WHERE cleared_at < ?", [now - HISTORY_KEPT_S]).rowcount
