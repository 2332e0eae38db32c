"""`alula regen`: have the target model answer prompts again."""

import asyncio
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import click

from console.command_line.live_view import ask, could_not, show, to_json
from console.command_line.regen_views import look_at, look_at_all
from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.records.regeneration import Regeneration
from state.regenerations import find_regeneration

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
WAIT_LOOK_S = 0.3


@click.group()
def regen() -> None:
    """Have the target model answer prompts again, to train a draft on its own words.

    Example: alula regen start prompts.jsonl --server http://127.0.0.1:30000
    """


@regen.command()
@click.argument("inputs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--server", required=True, help="URL of an SGLang or vLLM server that serves the target.")
@click.option("--name", default="", help="Name of the run; made from the first file's name where not given.")
@click.option("--model", default="", help="Model to ask for; the server's own where not given.")
@click.option("--concurrency", default=64, show_default=True, type=click.IntRange(1, 4096), help="Requests at once.")
@click.option("--max-tokens", default=4096, show_default=True, type=click.IntRange(1), help="Longest answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="The server's default where not given.")
@click.option("--top-p", type=click.FloatRange(0, 1), help="The server's default where not given.")
@click.option("--seed", type=int, help="Sent with each request.")
@click.option("--limit", type=click.IntRange(1), help="Only so many samples.")
@click.option("--wait", is_flag=True, help="Wait until the run has ended; exit 1 if samples failed.")
@_json_option
def start(
    inputs: tuple[Path, ...],
    server: str,
    name: str,
    model: str,
    concurrency: int,
    max_tokens: int,
    temperature: float | None,
    top_p: float | None,
    seed: int | None,
    limit: int | None,
    wait: bool,
    as_json: bool,
) -> None:
    """Start a run over INPUTS: JSONL (or .gz) with messages, conversations, prompt or turns.

    It goes on in the background whatever becomes of this terminal, and again after any crash.

    Example: alula regen start HumanEval.jsonl.gz --server http://127.0.0.1:30000 --max-tokens 512
    """
    problem = _first_problem(inputs)
    if problem is not None:
        _leave(f"{problem[0]}\n{problem[1]}", as_json)
    served = _served_model(server, as_json)
    if model and model != served:
        _leave(f"{server} serves {served}, not {model}\ngive the right --server, or leave --model away", as_json)
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "top_p": top_p, "seed": seed}
    arguments: dict[str, Any] = {
        "inputs": [str(path.absolute()) for path in inputs],
        "server_url": server.rstrip("/"),
        "model": served,
        "name": name,
        "concurrency": concurrency,
        "sampling": {key: value for key, value in sampling.items() if value is not None},
        "limit": limit,
    }
    try:
        client = Client(state_folder())
        client.ensure_engine()
        answer = client.ask("regen.start", arguments)
        said = f"{answer['name']} has started as job {answer['job_id']}\nalula regen status {answer['name']} --watch"
        click.echo(to_json(answer) if as_json else said)
        sys.exit(_wait(answer["name"]) if wait else 0)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))


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


@regen.command()
@click.argument("run")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write; else in the run folder."
)
@_json_option
def export(run: str, output: Path | None, as_json: bool) -> None:
    """Write what is answered so far as conversations JSONL (SpecForge's form), with a manifest.

    Example: alula regen export humaneval --output train.jsonl
    """
    from engine.regen.export import export_run
    from engine.regen.plan import PlanError, read_plan

    found = _run(run, as_json)
    try:
        manifest = export_run(Path(found.run_folder), read_plan(Path(found.run_folder)), output)
    except PlanError as error:
        _leave(f"{error}\n{error.remedy}", as_json)
    except (OSError, ValueError, sqlite3.Error) as error:
        _leave(f"cannot export {found.name}: {error}\ngive another --output, or see {found.run_folder}", as_json)
    click.echo(to_json(manifest) if as_json else f"{manifest.answered} conversations in {manifest.file}")


@regen.command()
@click.argument("run")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_json_option
def verify(run: str, file: Path | None, as_json: bool) -> None:
    """Prove an export complete and true: each sample once, each answer as it was stored.

    Exit code 0 where it is, 1 where it is not.

    Example: alula regen verify humaneval train.jsonl
    """
    from engine.regen.export import CONVERSATIONS
    from engine.regen.verify import verify_run

    found = _run(run, as_json)
    try:
        verdict = verify_run(Path(found.run_folder), file or Path(found.run_folder) / CONVERSATIONS)
    except (OSError, ValueError, sqlite3.Error) as error:
        _leave(f"cannot verify {found.name}: {error}\nexport it first: alula regen export {found.name}", as_json)
    if as_json:
        click.echo(to_json(verdict))
    else:
        counts = f"{verdict.rows} rows, {verdict.answered} answers, {verdict.failed} failed, {verdict.samples} samples"
        click.echo(
            "\n".join([f"{'complete and true' if not verdict.problems else 'NOT SOUND'}: {counts}", *verdict.problems])
        )
    sys.exit(1 if verdict.problems else 0)


def _run(name: str, as_json: bool) -> Regeneration:
    try:
        with closing(open_database(state_folder().database_path)) as database:
            found = find_regeneration(database, name)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    if found is None:
        _leave(f"there is no run {name}\nsee them: alula regen list", as_json)
    return found


def _wait(name: str) -> int:
    with closing(open_database(state_folder().database_path)) as database:
        while (run := find_regeneration(database, name)) is not None and run.state == "running":
            time.sleep(WAIT_LOOK_S)
        view = look_at(database, name)
    click.echo("\n".join(view.lines), err=True)
    return 2 if run is None or run.state != "done" else view.exit_code


def _first_problem(inputs: tuple[Path, ...]) -> tuple[str, str] | None:
    """What is wrong with the first records of a file that has no usable one among them."""
    from engine.regen.reading import read_samples
    from engine.regen.records import Rejection

    for path in inputs:
        first: Rejection | None = None
        try:
            for _, (_, found) in zip(range(100), read_samples(path), strict=False):
                if not isinstance(found, Rejection):
                    break
                first = first or found
            else:
                reason = f"{path}:{first.line}: {first.reason}" if first else f"{path} holds no record"
                return reason, first.remedy if first else "give a JSONL file with one record a line"
        except OSError as error:
            return f"cannot read {path}: {error.strerror}", "check the path and its rights"
    return None


def _served_model(url: str, as_json: bool) -> str:
    from engine.regen.server import ChatServer
    from engine.regen.wire import ServerDown

    async def asked() -> str:
        server = ChatServer(url, "", 1)
        try:
            return (await server.identity()).model
        finally:
            await server.close()

    try:
        return asyncio.run(asked())
    except ServerDown as error:
        _leave(f"{error}\nstart the server, or give its URL with --server (http://HOST:PORT)", as_json)


def _leave(message: str, as_json: bool) -> NoReturn:
    text, _, remedy = message.partition("\n")
    sys.exit(could_not(EngineUnavailable(text, remedy), as_json=as_json))
