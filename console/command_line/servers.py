"""`alula servers`: inference servers, one row each; add and remove them."""

import sqlite3
import sys

import click

from console.command_line.live_view import View, ask, show, table
from engine.watch.outliers import server_outliers
from state.records.servers import Server, ServerSample
from state.servers import latest_server_samples, read_ranks, read_servers
from widgets import figures

_HEADINGS = (
    "SERVER",
    "STATE",
    "MODEL",
    "ALGORITHM",
    "TOK/S",
    "RUN",
    "QUEUE",
    "KV",
    "CACHE",
    "ACCEPT",
    "TTFT P95",
    "ITL P95",
)
_MODEL_CELLS = 32
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print records as JSON; with --watch one line each second.")
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@click.pass_context
def servers(context: click.Context, as_json: bool, watch: bool) -> None:
    """Inference servers, one row each: those found on this host and those added by URL.

    Exit code 0; 2 where the state or the engine cannot be used.

    Example: alula servers --watch
    """
    if context.invoked_subcommand is None:
        sys.exit(show(look, as_json=as_json, watch=watch))


@servers.command()
@click.argument("url")
@_json_option
def add(url: str, as_json: bool) -> None:
    """Watch the server at URL.

    Example: alula servers add http://10.0.0.7:30000
    """

    def said(answer: dict[str, object]) -> str:
        return f"{answer['url']} is watched" + ("" if answer["added"] else " already")

    sys.exit(ask("servers.add", {"url": url}, as_json=as_json, said=said))


@servers.command()
@click.argument("url")
@_json_option
def remove(url: str, as_json: bool) -> None:
    """Forget the server at URL and its history. It is not stopped.

    Example: alula servers remove http://10.0.0.7:30000
    """
    sys.exit(ask("servers.remove", {"url": url}, as_json=as_json, said=lambda answer: f"{answer['url']} is forgotten"))


def look(database: sqlite3.Connection) -> View:
    """The servers as the database has them."""
    known, samples, ranks = read_servers(database), latest_server_samples(database), read_ranks(database)
    value = {"servers": known, "samples": list(samples.values()), "ranks": ranks}
    if not known:
        return View(["No server runs here, and none was added. Add one: alula servers add http://HOST:PORT"], value)
    rows = [_row(server, samples.get(server.url)) for server in known]
    odd = [f"{url}: {words}" for url, words in server_outliers(known, samples).items()]
    odd += [f"{rank.url} rank {rank.rank}: {rank.outlier}" for rank in ranks if rank.outlier]
    remarks = [f"{server.url}: {server.health_message}" for server in known if server.health_message]
    lines = table(_HEADINGS, rows, right=range(4, 12)) + (["", *remarks, *odd] if remarks + odd else [])
    return View(lines, value)


def _row(server: Server, sample: ServerSample | None) -> tuple[str, ...]:
    now = sample if sample is not None and server.health == "up" else ServerSample(url=server.url, taken_at=0)
    return (
        server.url,
        server.health,
        figures.left_column((server.model or "–").rsplit("/", 1)[-1], _MODEL_CELLS).rstrip(),
        server.speculative_algorithm or "–",
        figures.count(now.tokens_per_s),
        figures.count(now.running_requests),
        figures.count(now.queued_requests),
        figures.share(now.token_usage),
        figures.share(now.cache_hit_rate),
        figures.fixed(now.accept_length, 2),
        figures.milliseconds(now.ttft_p95_s),
        figures.milliseconds(now.itl_p95_s),
    )
