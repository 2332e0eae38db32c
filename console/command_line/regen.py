"""`alula regen`: have the target model answer prompts again."""

import sys
from typing import Any

import click

from console.command_line.live_view import ask, show
from console.command_line.regen_export import export, verify
from console.command_line.regen_findings import failures, flaws
from console.command_line.regen_start import start
from console.command_line.regen_steering import servers, tune
from console.command_line.regen_views import look_at, look_at_all

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def regen() -> None:
    """Have the target model answer prompts again, to train a draft on its own words.

    Example: alula regen start prompts.jsonl --server http://127.0.0.1:30000
    """


@regen.command("list")
@_json_option
def list_runs(as_json: bool) -> None:
    """All runs, the newest first.

    Example: alula regen list
    """
    sys.exit(show(look_at_all, as_json=as_json, watch=False))


@regen.command()
@click.argument("run", required=False)
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@_json_option
def status(run: str | None, watch: bool, as_json: bool) -> None:
    """How far a run is (the newest where RUN is not given), what failed, and when it will be done.

    Exit code 0; 1 if samples failed; 2 where there is no such run.

    Example: alula regen status humaneval --watch
    """
    sys.exit(show(lambda database: look_at(database, run), as_json=as_json, watch=watch))


@regen.command()
@click.argument("run")
@_json_option
def pause(run: str, as_json: bool) -> None:
    """Stop working on a run; all that is answered is kept.

    Example: alula regen pause humaneval
    """
    sys.exit(
        ask("regen.pause", {"name": run}, as_json=as_json, said=lambda answer: f"{answer['name']} is being paused")
    )


@regen.command()
@click.argument("run")
@_json_option
def resume(run: str, as_json: bool) -> None:
    """Go on with a run that was paused or could not go on.

    Example: alula regen resume humaneval
    """
    sys.exit(ask("regen.resume", {"name": run}, as_json=as_json, said=lambda answer: f"{answer['name']} goes on"))


@regen.command()
@click.argument("run")
@click.option("--kind", help="Only failures of this kind; see alula regen status.")
@_json_option
def retry(run: str, kind: str | None, as_json: bool) -> None:
    """Ask failed samples again.

    Example: alula regen retry humaneval --kind timeout
    """

    def said(answer: dict[str, Any]) -> str:
        return f"{answer['count']} samples of {answer['name']} are asked again"

    sys.exit(ask("regen.retry", {"name": run, "kind": kind}, as_json=as_json, said=said))


for command in (start, servers, tune, failures, flaws, export, verify):
    regen.add_command(command)
