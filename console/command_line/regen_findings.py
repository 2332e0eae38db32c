"""`alula regen failures` and `alula regen flaws`: what went wrong, an example of each, what to do."""

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from console.command_line.live_view import table, to_json
from console.command_line.regen_runs import find_run, leave
from state.outside_text import plain_line
from widgets import figures

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("run")
@_json_option
def failures(run: str, as_json: bool) -> None:
    """Samples that could not be answered: kind, count, an example, what to do.

    Exit code 0 where none failed, 1 where some did.

    Example: alula regen failures humaneval
    """
    from engine.regen.remedies import FAILURE_REMEDIES

    found: list[dict[str, Any]] = []
    for kind, count, name, message in _read(run, as_json, lambda store: store.failures()):
        same = next((one for one in found if one["kind"] == kind), None)
        if same is not None:
            same["count"] += count
            continue
        remedy = FAILURE_REMEDIES.get(kind, "")
        found.append({"kind": kind, "count": count, "example": name, "message": message, "remedy": remedy})
    if as_json:
        click.echo(to_json(found))
    else:
        rows = [[one["kind"], figures.count(one["count"]), one["example"][:40]] for one in found]
        lines = table(["FAILURE", "COUNT", "EXAMPLE"], rows, right=[1])
        for one in found:
            lines += [
                "",
                f"{one['kind']}: {one['remedy']}",
                f"  {plain_line(one['example'], 60)}: {plain_line(one['message'], 300)}",
                f"  alula regen retry {run} --kind {one['kind']}",
            ]
        click.echo("\n".join(lines) if found else "no sample has failed")
    sys.exit(1 if found else 0)


@click.command()
@click.argument("run")
@_json_option
def flaws(run: str, as_json: bool) -> None:
    """Answers that look wrong, source by source: cut off, loops, refusals, another language, echoes.

    Exit code 0 where none does, 1 where some do.

    Example: alula regen flaws humaneval
    """
    from engine.regen.remedies import FLAW_REMEDIES

    found = _merged(_read(run, as_json, _flaws_by_source))
    if as_json:
        click.echo(to_json(found))
    else:
        rows = [
            [Path(one["source"]).name, one["kind"], figures.count(one["count"]), figures.share(one["share"], 1),
             one["example"][:40]]
            for one in found
        ]  # fmt: skip
        lines = table(["SOURCE", "FLAW", "COUNT", "SHARE", "EXAMPLE"], rows, right=[2, 3])
        kinds = dict.fromkeys(one["kind"] for one in found)
        lines += ["", *(f"{kind}: {FLAW_REMEDIES.get(kind, '')}" for kind in kinds)]
        click.echo("\n".join(lines) if found else "no answer looks wrong")
    sys.exit(1 if found else 0)


def _flaws_by_source(store: Any) -> list[dict[str, Any]]:
    """For each source its answers, without a kind, and its flaws."""
    found = []
    for tally in store.source_tallies():
        found.append({"source": tally.extent.name, "kind": None, "count": 0, "done": tally.done, "example": ""})
        for kind, count, name in store.flaw_examples(tally.extent):
            found.append({"source": tally.extent.name, "kind": kind, "count": count, "done": 0, "example": name})
    return found


def _merged(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Flaws of one kind and source in several shards as one, with their share of the answers."""
    done: dict[str, int] = {}
    whole: dict[tuple[str, str], dict[str, Any]] = {}
    for one in found:
        one = dict(one)
        done[one["source"]] = done.get(one["source"], 0) + one.pop("done")
        if one["kind"] is None:
            continue
        same = whole.setdefault((one["source"], one["kind"]), {**one, "count": 0})
        same["count"] += one["count"]
    return [{**one, "share": one["count"] / done[source] if done[source] else None}
            for (source, _), one in whole.items()]  # fmt: skip


def _read(run: str, as_json: bool, read: Callable[[Any], list[Any]]) -> list[Any]:
    """What each shard of a run gives."""
    from engine.regen.shards import shard_folders
    from engine.regen.store import Store

    found = find_run(run, as_json)
    try:
        read_all = []
        for folder in shard_folders(Path(found.run_folder)):
            with closing(Store(folder, read_only=True)) as store:
                read_all += read(store)
        return read_all
    except (OSError, ValueError, sqlite3.Error) as error:
        leave(f"cannot read {found.name}: {error}\nit has none before its inputs are read: {found.run_folder}", as_json)
