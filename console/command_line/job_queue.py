"""`alula jobs pause`, `resume` and `drain`: the queue as a whole."""

import getpass
import sys
import time
from contextlib import closing

import click

from console.command_line.live_view import ask, could_not, to_json
from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import explained, open_database
from state.errors import StateError
from state.folder import state_folder
from state.jobs import open_jobs

LOOK_S = 0.5
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@_json_option
def pause(as_json: bool) -> None:
    """Start no more queued jobs. Those that run go on.

    Example: alula jobs pause
    """
    said = "no more jobs start until: alula jobs resume"
    sys.exit(ask("jobs.pause", {"by": getpass.getuser()}, as_json=as_json, said=lambda answer: said))


@click.command()
@_json_option
def resume(as_json: bool) -> None:
    """Start queued jobs again.

    Example: alula jobs resume
    """
    sys.exit(ask("jobs.resume", {}, as_json=as_json, said=lambda answer: "queued jobs start again"))


@click.command()
@click.option("--timeout", "timeout_s", type=click.FloatRange(0), help="Seconds to wait at most.")
@_json_option
def drain(timeout_s: float | None, as_json: bool) -> None:
    """Pause the queue, then wait until no job runs: before a driver update or a reboot.

    Exit code 1 if jobs still run when the time is up.

    Example: alula jobs drain --timeout 3600 && sudo reboot
    """
    try:
        client = Client(state_folder())
        client.ensure_engine()
        client.ask("jobs.pause", {"by": getpass.getuser()})
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        before: list[int] = []
        while running := _running():
            if deadline is not None and time.monotonic() >= deadline:
                break
            if running != before and not as_json:
                click.echo(f"waits for job {', '.join(map(str, running))}")
            before = running
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        running = before
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    still = f"still running: job {', '.join(map(str, running))}" if running else "no job runs"
    click.echo(to_json({"running": running}) if as_json else f"{still}; the queue stays paused: alula jobs resume")
    sys.exit(1 if running else 0)


def _running() -> list[int]:
    path = state_folder().database_path
    with closing(open_database(path)) as database, explained(path):
        return [job.id for job in open_jobs(database) if job.state != "queued"]
