"""`alula bench tune`: which configuration to measure next, and whether any untried one can still win."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from console.command_line.bench_running import folder_of, go_on, start_plan
from console.command_line.live_view import could_not, table, to_json
from state.bench import find_bench
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line

if TYPE_CHECKING:
    from engine.bench.records import Plan
    from engine.bench.tune import Advice, Outlook


@click.command()
@click.argument("what", metavar="SWEEP.toml|NAME")
@click.option("--run", is_flag=True, help="Measure point after point until no untried one can win; takes a file.")
@click.option("--gain", type=click.FloatRange(0, 100), help="Least advantage worth a launch, in %; 2 if not given.")
@click.option("--here", is_flag=True, help="With --run: in this terminal; servers are still jobs of the engine.")
@click.option("--wait", is_flag=True, help="With --run: wait for the end, then print the comparison.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tune(what: str, run: bool, gain: float | None, here: bool, wait: bool, as_json: bool) -> None:
    """Say what to measure next, by the accept rates and costs measured so far, or that no untried point can win.

    Takes a sweep file, whose points are the candidates, or the name or run folder of a benchmark. With --run
    those points of the file are launched that may still win; given again, a stopped search goes on.

    Exit code 0 where a point is proposed or the search is over, 2 where neither can be said.

    Example: alula bench tune drafts.toml --run --wait
    """
    if run:
        _search(what, gain, here=here, wait=wait, as_json=as_json)
    from engine.bench.comparison import compare_folder
    from engine.bench.records import BenchError
    from engine.bench.tune import GAIN
    from engine.bench.tuning import advices, first_advices

    try:
        plan, folder = _plan_of(what, as_json)
        _need_baseline(plan, as_json)
        least = GAIN if gain is None else gain / 100
        found = first_advices(plan, least) if folder is None else advices(plan, compare_folder(folder), gain=least)
    except BenchError as error:
        _leave(f"{error}\n{error.remedy}", as_json)
    click.echo(to_json(found) if as_json else "\n".join(line for one in found for line in _lines(one)))


def _search(what: str, gain: float | None, *, here: bool, wait: bool, as_json: bool) -> NoReturn:
    """Begin the search that a file describes, or go on with it."""
    import msgspec

    from engine.bench.records import BenchError
    from engine.bench.sweep_file import read_sweep
    from engine.bench.tune import GAIN

    if not Path(what).is_file():
        _leave("--run takes a sweep file\ngive a TOML file; docs/bench.md has examples", as_json)
    try:
        plan = read_sweep(Path(what))
    except BenchError as error:
        _leave(f"{error}\n{error.remedy}", as_json)
    _need_baseline(plan, as_json)
    name = f"{plan.name}-tune"[:60]
    plan = msgspec.structs.replace(plan, kind="tune", name=name, gain=GAIN if gain is None else gain / 100)
    if _exists(name, as_json):
        go_on(name, here=here, wait=wait, as_json=as_json)
    start_plan(plan, here=here, wait=wait, as_json=as_json)


def _plan_of(what: str, as_json: bool) -> "tuple[Plan, Path | None]":
    """The candidates, and the folder of what was measured of them, if anything was."""
    from engine.bench.cells import read_plan
    from engine.bench.sweep_file import read_sweep

    if Path(what).is_file():
        plan = read_sweep(Path(what))
        name = next((name for name in (f"{plan.name}-tune", plan.name) if _exists(name, as_json)), "")
        return plan, folder_of(name, as_json) if name else None
    folder = folder_of(what, as_json)
    return read_plan(folder), folder


def _need_baseline(plan: "Plan", as_json: bool) -> None:
    if not plan.baseline:
        _leave("a search needs a baseline\nadd a point without speculation, called baseline", as_json)


def _exists(name: str, as_json: bool) -> bool:
    try:
        with closing(open_database(state_folder().database_path)) as database:
            return find_bench(database, name) is not None
    except (StateError, sqlite3.Error) as error:
        if isinstance(error, StateError):
            sys.exit(could_not(error, as_json=as_json))
        _leave(f"{error}\nsee alula doctor", as_json)


def _lines(advice: "Advice") -> list[str]:
    rows = [[plain_line(one.name, 60), str(one.num_steps or ""), *_speed(one)] for one in advice.outlooks]
    lines = [f"{advice.load}:", *(f"  {line}" for line in table(["configuration", "steps", "speed-up", ""], rows, [1]))]
    said = f"next: {advice.next}: {advice.why}" if advice.next else f"done: {advice.why}"
    return [*(lines if rows else lines[:1]), plain_line(said, 400), ""]


def _speed(one: "Outlook") -> list[str]:
    if one.given_up:
        return ["–", "tried, does not count"]
    if one.speedup is None:
        return ["–", "nothing foretells it"]
    low, high = one.speedup.low, one.speedup.high
    span = f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""
    return [f"{one.speedup.value:.2f}x{span}", "measured" if one.measured else "foretold"]


def _leave(message: str, as_json: bool) -> NoReturn:
    first, _, remedy = message.partition("\n")
    click.echo(to_json({"error": first, "remedy": remedy}) if as_json else f"alula: {message}", err=True)
    sys.exit(2)
