"""`alula data search`: send scouts over the hub."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from console.command_line.data_options import json_option, leave
from console.command_line.live_view import ask, table, to_json
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.outside_text import plain_line
from widgets import figures

if TYPE_CHECKING:
    from engine.data.discovery.scouts import Scout
    from engine.data.discovery.search import Outcome, SearchRequest
    from state.records.data import DataSearch, DataSet


@click.command("search")
@click.argument("scouts", nargs=-1, metavar="[SCOUT]...")
@click.option("--name", default="campaign", show_default=True, help="Of the search; a stopped one is gone on with.")
@click.option(
    "--scouts",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with scouts of your own; they go beside the built-in ones.",
)
@click.option("--list", "listing", is_flag=True, help="List the scouts and ask nothing.")
@click.option("--offline", is_flag=True, help="Use only answers that are kept.")
@click.option("--fresh", is_flag=True, help="Ask again also what was answered in the last seven days.")
@click.option("--rate", default=5.0, show_default=True, type=click.FloatRange(0.01, 100), help="Questions a second.")
@click.option("--timeout", default=20.0, show_default=True, type=click.FloatRange(0.1, 600), help="Seconds a question.")
@click.option("--most", default=60, show_default=True, type=click.IntRange(1, 10_000), help="Questions of each scout.")
@click.option("--job", "as_job", is_flag=True, help="Search in the background, as a job.")
@json_option
def search_hub(
    scouts: tuple[str, ...],
    name: str,
    files: tuple[Path, ...],
    listing: bool,
    offline: bool,
    fresh: bool,
    rate: float,
    timeout: float,
    most: int,
    as_job: bool,
    as_json: bool,
) -> None:
    """Search the Hugging Face hub for data sets with all scouts, or those named, side by side.

    Each goes in rounds: broad questions, a look at what is promising, what is still missing; then mirrors are merged
    and one table is made: JSON, Markdown and a first plan. Answers are kept: a stopped search goes on where it was.

    Exit code 0; 2 where nothing was found; 4 where it was stopped.

    Example: alula data search competitive-programming mathematics --name code-and-math
    """
    from engine.data.discovery.scouts import ScoutError, built_in_scouts, chosen, read_scouts
    from engine.data.discovery.search import DAY_S, SearchRequest

    try:
        known = (*built_in_scouts(), *(scout for path in files for scout in read_scouts(path)))
        picked = chosen(known, scouts)
    except ScoutError as error:
        leave(plain_line(str(error)), error.remedy, as_json=as_json)
    if listing:
        click.echo(to_json(picked) if as_json else "\n".join(_scout_lines(picked)))
        return
    request = SearchRequest(
        name=name, scouts=picked, offline=offline or _told_offline(), per_second=rate, timeout_s=timeout,
        fresh_s=0.0 if fresh else 7 * DAY_S, most_questions=most,
    )  # fmt: skip
    sys.exit(_as_job(request, as_json) if as_job else _here(request, as_json))


def _here(request: "SearchRequest", as_json: bool) -> int:
    from engine.data.discovery.worker import EXIT_CODES, search

    try:
        folder = state_folder()
        begun = _begin(folder, request, as_json)
        outcome = search(request, begun.id, Path(begun.run_folder), _silent if as_json else _say)
    except StateError as error:
        leave(str(error), error.remedy, as_json=as_json)
    except (OSError, sqlite3.Error) as error:
        leave(f"cannot go on: {error}", "free space, or see the rights of the state folder", as_json=as_json)
    if as_json:
        click.echo(to_json({"folder": begun.run_folder, **_told(outcome)}))
    else:
        click.echo("\n".join(_outcome_lines(outcome, Path(begun.run_folder))))
    return EXIT_CODES[outcome.state]


def _as_job(request: "SearchRequest", as_json: bool) -> int:
    import msgspec

    return ask(
        "data.search",
        {"request": msgspec.to_builtins(request)},
        as_json=as_json,
        said=lambda answer: f"{request.name} is job {answer['job_id']}\nalula jobs logs {answer['job_id']} --follow",
    )


def _begin(folder: StateFolder, request: "SearchRequest", as_json: bool) -> "DataSearch":
    from engine.data.discovery.beginning import SearchError, begin_search
    from state.database import open_database

    with closing(open_database(folder.database_path)) as database:
        try:
            return begin_search(database, folder.runs_path, request)
        except SearchError as error:
            leave(str(error), error.remedy, as_json=as_json)


def set_lines(sets: Sequence["DataSet"]) -> list[str]:
    """A curated table in lines for people."""
    rows = [
        [one.id, one.domain, figures.count(one.rows), one.licence or "–", one.access, f"{one.score:.2f}"]
        for one in sets
        if one.kept
    ]
    return table(["SET", "DOMAIN", "ROWS", "LICENCE", "ACCESS", "FIT"], rows, right=[2, 5])


def _outcome_lines(outcome: "Outcome", folder: Path) -> list[str]:
    from engine.data.discovery.written import MARKDOWN, PLAN, TABLE

    closed = [one.id for one in outcome.sets if one.kept and one.access in ("terms", "request")]
    asked = f"{outcome.asked} questions: {outcome.from_hub} answered by the hub, {outcome.kept_answers} kept here"
    lines = ["", *set_lines(outcome.sets), "", f"{outcome.state}: {outcome.message}", asked]
    if outcome.refused:
        lines.append(f"the hub refused {outcome.refused} times (429); a token raises its limit: set HF_TOKEN")
    if closed:
        where = ", ".join(f"https://huggingface.co/datasets/{plain_line(name, 120)}" for name in closed[:5])
        lines.append(f"{len(closed)} of them are gated: accept their terms at {where}, then set HF_TOKEN")
    lines += [f"table      {folder / MARKDOWN}", f"           {folder / TABLE}", f"plan       {folder / PLAN}"]
    return [*lines, f"next       alula data plan --from {folder / TABLE} --present 8800 --times 10"]


def _told(outcome: "Outcome") -> dict[str, object]:
    import msgspec

    return dict(msgspec.to_builtins(outcome))


def _scout_lines(scouts: Sequence["Scout"]) -> list[str]:
    rows = [[one.name, one.domain, ", ".join(one.searches)] for one in scouts]
    return table(["SCOUT", "DOMAIN", "SEARCHES"], rows)


def _told_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def _say(text: str) -> None:
    click.echo(plain_line(text, 200), err=True)


def _silent(text: str) -> None:
    """Scripts are told by the JSON at the end."""
