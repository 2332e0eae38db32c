"""`alula alerts`: what is wrong on this host, since when, and what to do."""

import sqlite3
import sys
import time
from collections.abc import Callable

import click

from console.command_line.live_view import View, ask, show
from state.alerts import open_alerts, read_alerts
from state.outside_text import plain_line
from state.records.alerts import Alert
from widgets import figures


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print records as JSON; with --watch one line each second.")
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@click.option("--all", "with_past", is_flag=True, help="Also those that have ended, newest first.")
@click.pass_context
def alerts(context: click.Context, as_json: bool, watch: bool, with_past: bool) -> None:
    """What is wrong on this host, since when, and what to do.

    Exit code 0 without open alerts, 1 with some, 2 where the state or the engine cannot be used.

    Example: alula alerts || mail -s "GPU host" ops@example.org
    """
    if context.invoked_subcommand is None:
        sys.exit(show(_look(with_past), as_json=as_json, watch=watch))


@alerts.command()
@click.argument("alert_id", type=int, metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ack(alert_id: int, as_json: bool) -> None:
    """Acknowledge an open alert: it stays open, and no longer calls.

    Example: alula alerts ack 12
    """
    arguments = {"alert_id": alert_id}
    sys.exit(ask("alerts.acknowledge", arguments, as_json=as_json, said=lambda _: f"alert {alert_id} is acknowledged"))


def _look(with_past: bool) -> Callable[[sqlite3.Connection], View]:
    def look(database: sqlite3.Connection) -> View:
        found, now = read_alerts(database) if with_past else open_alerts(database), time.time()
        open_now = any(alert.cleared_at is None for alert in found)
        lines = [line for alert in found for line in _lines(alert, now)] or ["No alerts."]
        return View(lines, found, exit_code=int(open_now))

    return look


def _lines(alert: Alert, now: float) -> list[str]:
    if alert.cleared_at is not None:
        state = (
            f"ended {figures.age(now - alert.cleared_at)}, lasted {figures.duration(alert.cleared_at - alert.since)}"
        )
    else:
        state = f"since {figures.duration(now - alert.since)}" + (", acknowledged" if alert.acknowledged_at else "")
    head = f"{alert.id}  {alert.severity.upper()}  {alert.subject}: {alert.title}  ({state})"
    return [plain_line(head), f"    {plain_line(alert.cause)}", f"    -> {plain_line(alert.remedy)}", ""]
