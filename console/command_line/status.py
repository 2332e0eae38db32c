"""`alula status`: the host in a few lines, or in one."""

import sqlite3
import sys
from collections.abc import Callable

import click

from console.command_line.live_view import View, show
from console.command_line.status_lines import Status, lines, one_line
from state import alerts, gpus, host, jobs, regenerations, servers
from state.engine import is_running, read_engine
from state.fleets import read_whole
from state.records.regeneration import Regeneration
from state.records.views import RegenerationRow
from state.secret_words import shown_job

RUNS_SHOWN = 3


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print records as JSON; with --watch one line each second.")
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@click.option("--plain", is_flag=True, help="With --watch: only lines that changed, and no control sequences.")
@click.option("--line", "single", is_flag=True, help="One line, for a status bar.")
def status(as_json: bool, watch: bool, plain: bool, single: bool) -> None:
    """The host in a few lines: processors, GPUs, servers, jobs, regenerations, alerts.

    Exit code 0; 1 with an open alert that is an error; 2 where the state or the engine cannot be used.

    Example: tmux set -g status-right "#(alula status --line)"
    """
    sys.exit(show(_look(single), as_json=as_json, watch=watch, plain=plain))


def watch_plain() -> int:
    """The lines, then each one that changes, until Ctrl-C. Gives the exit code."""
    return show(_look(False), as_json=False, watch=True, plain=True)


def read_status(database: sqlite3.Connection) -> Status:
    """All that the lines are made of."""
    engine = read_engine(database)
    samples = servers.latest_server_samples(database)
    rows = _worth_showing(database, regenerations.read_regenerations(database))
    return Status(
        engine_alive=is_running(engine),
        host=host.latest_host_sample(database),
        disks=list(host.read_disks(database)),
        gpu_status=gpus.read_status(database),
        gpus=gpus.read_gpus(database),
        gpu_samples=gpus.latest_samples(database),
        servers=[(server, samples.get(server.url)) for server in servers.read_servers(database)],
        jobs=[shown_job(job) for job in jobs.open_jobs(database)],
        runs=[(row.run, row.progress) for row in rows],
        alerts=alerts.open_alerts(database),
    )


def _look(single: bool) -> Callable[[sqlite3.Connection], View]:
    def look(database: sqlite3.Connection) -> View:
        found = read_status(database)
        return View(
            [one_line(found)] if single else lines(found),
            found,
            ready=found.host is not None and found.gpu_status is not None,
            exit_code=int(any(alert.severity == "error" for alert in found.alerts)),
        )

    return look


def _worth_showing(database: sqlite3.Connection, runs: list[Regeneration]) -> list[RegenerationRow]:
    """Those that run or wait, the newest ones; a fleet as one."""
    names = dict.fromkeys(run.fleet or run.name for run in runs if run.state in ("running", "paused"))
    found = [read_whole(database, name) for name in list(names)[:RUNS_SHOWN]]
    return [row for row in found if row is not None]
