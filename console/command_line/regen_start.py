"""`alula regen start`: what is asked of whom, checked before anything starts."""

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from console.command_line.live_view import could_not, to_json
from console.command_line.regen_runs import leave
from console.command_line.regen_steering import THRESHOLD, concurrency_of, thresholds
from console.command_line.regen_views import look_at
from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.fleets import read_whole
from state.folder import state_folder

WAIT_LOOK_S = 0.3


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--server", "servers", multiple=True, required=True, metavar="URL[,WEIGHT]",
    help="An SGLang or vLLM server, or a router, that serves the target. May be given several times.",
)  # fmt: skip
@click.option("--name", default="", help="Name of the run; made from the first file's name where not given.")
@click.option("--model", default="", help="Model to ask for; the server's own where not given.")
@click.option(
    "--concurrency", default="auto", show_default=True, help="Requests at once; auto raises it while it pays."
)
@click.option("--max-tokens", default=4096, show_default=True, type=click.IntRange(1), help="Longest answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="The server's default where not given.")
@click.option("--top-p", type=click.FloatRange(0, 1), help="The server's default where not given.")
@click.option("--seed", type=int, help="Sent with each request.")
@click.option("--sampling-for", multiple=True, metavar="FILE:KEY=VALUE,...", help="Other sampling for one input.")
@click.option("--samples", default=1, show_default=True, type=click.IntRange(1, 100), help="Answers to each prompt.")
@click.option("--limit", type=click.IntRange(1), help="Only so many samples.")
@click.option(
    "--tokens", "tokenizer", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER",
    help="Ask over /generate in tokens of this tokenizer, and keep the target's own tokens.",
)  # fmt: skip
@click.option("--pause-at", multiple=True, metavar=THRESHOLD, help="Pause above this share of a flaw; off is never.")
@click.option("--allow-lossy", is_flag=True, help="Take answers of a server that accepts draft tokens lossily.")
@click.option("--shards", default=1, show_default=True, type=click.IntRange(1, 256), help="Split over so many workers.")
@click.option(
    "--on", default="local", show_default=True, metavar="PLACE",
    help="Where the workers run: local, slurm, slurm://PARTITION, ray://HOST:PORT. See docs/clusters.md.",
)  # fmt: skip
@click.option("--wait", is_flag=True, help="Wait until the run has ended; exit 1 if samples failed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def start(as_json: bool, wait: bool, inputs: tuple[Path, ...], servers: tuple[str, ...], **options: Any) -> None:
    """Start a run over INPUTS: JSONL (or .gz) with messages, conversations, prompt or turns.

    It goes on in the background whatever becomes of this terminal, and again after any crash.

    Example: alula regen start HumanEval.jsonl.gz --server http://127.0.0.1:30000 --max-tokens 512
    """
    problem = _first_problem(inputs)
    if problem is not None:
        leave(f"{problem[0]}\n{problem[1]}", as_json)
    entries = [_entry(text, as_json) for text in servers]
    arguments = _arguments(inputs, entries, options, as_json)
    try:
        client = Client(state_folder())
        client.ensure_engine()
        answer = client.ask("regen.start", arguments)
        jobs = ", ".join(map(str, answer.get("job_ids", [answer["job_id"]])))
        said = f"{answer['name']} has started as job {jobs}\nalula regen status {answer['name']} --watch"
        click.echo(to_json(answer) if as_json else said)
        sys.exit(_wait(answer["name"]) if wait else 0)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))


def _arguments(
    inputs: tuple[Path, ...], entries: list[dict[str, Any]], options: dict[str, Any], as_json: bool
) -> dict[str, Any]:
    first, *others = entries
    url, model = first["url"], options["model"]
    served = _served_model(url, as_json)
    if model and model != served:
        leave(f"{url} serves {served}, not {model}\ngive the right --server, or leave --model away", as_json)
    sampling = {key: options[key] for key in ("max_tokens", "temperature", "top_p", "seed") if options[key] is not None}
    tokenizer = options["tokenizer"]
    return {
        "inputs": [str(path.absolute()) for path in inputs],
        "server_url": url,
        "weight": first["weight"],
        "more_servers": others,
        "model": served,
        "name": options["name"],
        "concurrency": concurrency_of(options["concurrency"], as_json),
        "sampling": sampling,
        "sampling_by_source": _sampling_by_source(options["sampling_for"], inputs, sampling, as_json),
        "samples": options["samples"],
        "limit": options["limit"],
        "tokenizer": str(tokenizer.absolute()) if tokenizer else None,
        "pause_at": thresholds(options["pause_at"], as_json),
        "allow_lossy": options["allow_lossy"],
        "shards": options["shards"],
        "on": options["on"],
    }


def _entry(text: str, as_json: bool) -> dict[str, Any]:
    url, _, weight = text.partition(",")
    try:
        return {"url": url.rstrip("/"), "weight": float(weight) if weight else 1.0}
    except ValueError:
        leave(f"{text!r} is no server\ngive URL or URL,WEIGHT, as http://127.0.0.1:30000,2", as_json)


def _sampling_by_source(
    given: tuple[str, ...], inputs: tuple[Path, ...], sampling: dict[str, Any], as_json: bool
) -> dict[str, Any]:
    """Input to its sampling, from words like `chat.jsonl:temperature=0.7,max_tokens=2048`."""
    import msgspec

    from engine.regen.records import Sampling

    found: dict[str, Any] = {}
    for text in given:
        file, _, pairs = text.rpartition(":")
        matching = [path for path in inputs if str(path) == file or path.name == file]
        own = dict(pair.split("=", 1) for pair in pairs.split(",") if "=" in pair)
        try:
            known = msgspec.convert({**sampling, **own}, Sampling, strict=False)
        except msgspec.ValidationError as error:
            leave(f"--sampling-for {text}: {error}\nas chat.jsonl:temperature=0.7,top_p=0.9", as_json)
        if len(matching) != 1 or not own or set(own) - set(Sampling.__struct_fields__):
            fields = ", ".join(Sampling.__struct_fields__)
            leave(f"--sampling-for {text} names no input or no field\nFILE:KEY=VALUE, KEY of {fields}", as_json)
        found[str(matching[0].absolute())] = msgspec.to_builtins(known)
    return found


def _wait(name: str) -> int:
    with closing(open_database(state_folder().database_path)) as database:
        while (row := read_whole(database, name)) is not None and row.run.state == "running":
            time.sleep(WAIT_LOOK_S)
        view = look_at(database, name)
    click.echo("\n".join(view.lines), err=True)
    return 2 if row is None or row.run.state != "done" else view.exit_code


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
    from engine.regen.server import served_model
    from engine.regen.wire import ServerDown

    try:
        return served_model(url)
    except ServerDown as error:
        leave(f"{error}\nstart the server, or give its URL with --server (http://HOST:PORT)", as_json)
