"""`alula engine`: the background process."""

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from console.command_line.live_view import could_not, table, to_json
from engine.client import Client, CommandRefused, EngineUnavailable
from engine.lock import is_locked
from state.database import open_database
from state.engine import STALE_HEARTBEAT_S, read_engine, read_parts
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.outside_text import plain_line
from widgets import figures

STOP_LIMIT_S = 20.0
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def engine() -> None:
    """The background process that watches this host and looks after jobs. One runs for each state folder."""


@engine.command()
@click.option("--replay", "recording", type=click.Path(path_type=Path), metavar="FILE",
              help="Play this recording in place of watching this host.")  # fmt: skip
def run(recording: Path | None) -> None:
    """Run the engine in this terminal until Ctrl-C. Jobs go on when it ends.

    Example: ALULA_HOME=/tmp/replay alula engine run --replay incident.jsonl.gz
    """
    from engine.daemon import EXIT_ALREADY_RUNNING, run_engine
    from engine.parts import all_parts
    from engine.watch.replay import check_recording

    try:
        if recording:
            click.echo(f"{recording}: {check_recording(recording):.0f} s, played again and again", err=True)
        folder = state_folder()
        if folder.notice:
            click.echo(folder.notice, err=True)
        code = run_engine(folder, all_parts(recording), to_terminal=True)
    except StateError as error:
        sys.exit(could_not(error, as_json=False))
    if code == EXIT_ALREADY_RUNNING:
        sys.exit(could_not(EngineUnavailable("another engine runs", "see it: alula engine status"), as_json=False))
    sys.exit(code)


@engine.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seconds", type=click.FloatRange(1, 86_400), default=60.0, show_default=True)
@_json_option
def record(file: Path, seconds: float, as_json: bool) -> None:
    """Record what the engine watches, without names of people, hosts and paths, for --replay.

    FILE is gzipped if its name ends in .gz. About 100 bytes a second and GPU.

    Example: alula engine record incident.jsonl.gz --seconds 300
    """
    from engine.watch.recorder import record as record_into

    try:
        folder = state_folder()
        Client(folder).ensure_engine()
        with closing(open_database(folder.database_path)) as database:
            lines = record_into(database, file, seconds)
    except (StateError, EngineUnavailable) as error:
        sys.exit(could_not(error, as_json=as_json))
    except OSError as error:
        problem = StateError(f"{file} cannot be written: {error.strerror}", "Name a file in a folder of yours.")
        sys.exit(could_not(problem, as_json=as_json))
    click.echo(to_json({"file": str(file), "lines": lines}) if as_json else f"{file}: {lines} lines")


@engine.command()
@_json_option
def start(as_json: bool) -> None:
    """Start the engine, detached from this terminal, unless it runs.

    Example: alula engine start
    """
    try:
        folder = state_folder()
        found = Client(folder).ensure_engine()
    except (StateError, EngineUnavailable) as error:
        sys.exit(could_not(error, as_json=as_json))
    answer = {"pid": found.pid, "state_folder": str(folder.path), "notice": folder.notice}
    click.echo(to_json(answer) if as_json else f"the engine runs, pid {found.pid}, state in {folder.path}")
    if folder.notice and not as_json:
        click.echo(folder.notice, err=True)


@engine.command()
@_json_option
def stop(as_json: bool) -> None:
    """Stop the engine. Jobs go on, and the next engine takes them up.

    Example: alula engine stop
    """
    try:
        folder = state_folder()
        ran = is_locked(folder.engine_lock_path)
        if ran:
            Client(folder).ask("engine.stop", {})
            _wait_until_stopped(folder)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))
    click.echo(to_json({"stopped": ran}) if as_json else "the engine has stopped" if ran else "no engine runs")


@engine.command()
@_json_option
def status(as_json: bool) -> None:
    """Say whether the engine runs and how its parts are.

    Exit code 0: it runs. 1: it does not run, or gives no sign. 2: could not find out.

    Example: alula engine status || alula engine start
    """
    try:
        folder = state_folder()
        with closing(open_database(folder.database_path)) as database:
            found, parts = read_engine(database), read_parts(database)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    now = time.time()
    running = is_locked(folder.engine_lock_path)
    silent = running and (found is None or now - found.heartbeat_at > STALE_HEARTBEAT_S)
    if as_json:
        click.echo(to_json({"running": running, "silent": silent, "engine": found, "parts": parts,
                            "state_folder": str(folder.path), "notice": folder.notice}))  # fmt: skip
    else:
        for line in [_line(found, running, silent, now), f"state in {folder.path}", *_part_lines(parts, now)]:
            click.echo(line)
        if folder.notice:
            click.echo(folder.notice, err=True)
    sys.exit(0 if running and not silent else 1)


@engine.command()
@click.option("--print", "only_print", is_flag=True, help="Print the unit and write nothing.")
@_json_option
def install(only_print: bool, as_json: bool) -> None:
    """Write a systemd user unit for the engine, and say how to turn it on.

    Example: alula engine install --print
    """
    import engine as engine_package
    from engine.systemd import next_steps, unit_text, write_unit

    try:
        text = unit_text(state_folder().path, Path(engine_package.__path__[0]).resolve().parent)
        path = None if only_print else write_unit(text)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    except OSError as error:
        problem = StateError(f"cannot write the unit: {error}", "print it: alula engine install --print")
        sys.exit(could_not(problem, as_json=as_json))
    if as_json:
        click.echo(to_json({"unit": text, "path": path and str(path), "next": next_steps()}))
    elif path is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"wrote {path}; now run:")
        for step in next_steps():
            click.echo(f"  {step}")


def _wait_until_stopped(folder: StateFolder) -> None:
    deadline = time.monotonic() + STOP_LIMIT_S
    while is_locked(folder.engine_lock_path):
        if time.monotonic() > deadline:
            raise EngineUnavailable("the engine is slow to stop", f"look into {folder.engine_log_path}")
        time.sleep(0.02)


def _line(found: Any, running: bool, silent: bool, now: float) -> str:
    if not running:
        return "no engine runs"
    if found is None:
        return "the engine is starting"
    signs = f"no sign for {figures.duration(now - found.heartbeat_at)}" if silent else "well"
    runs_for = figures.duration(now - found.started_at)
    return f"the engine runs: pid {found.pid}, version {found.version}, for {runs_for}, {signs}"


def _part_lines(parts: list[Any], now: float) -> list[str]:
    rows = [
        (part.name, part.state.replace("_", " "), figures.duration(now - part.since), str(part.restarts),
         plain_line(part.last_error or "", 200))
        for part in parts
    ]  # fmt: skip
    return table(("PART", "STATE", "FOR", "RESTARTS", "LAST ERROR"), rows) if rows else []
