"""`alula bench`: is it faster, by how much, and what would break even."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from console.command_line.bench_running import begin, measuring
from console.command_line.bench_tune import tune
from console.command_line.live_view import ask, show, to_json

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def bench() -> None:
    """Measure servers: is speculation faster than the baseline, by how much, and what would break even.

    Example: alula bench run --server http://127.0.0.1:30000 --prompts prompts.jsonl --concurrency 1,8
    """


@bench.command()
@click.option("--server", "servers", required=True, multiple=True, help="URL, or NAME=URL; the first is the baseline.")
@measuring
@_json_option
def run(servers: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Measure servers that already run.

    It goes on in the background; --wait waits for it, --here runs it in this terminal.

    Example: alula bench run --server http://127.0.0.1:30000 --prompts HumanEval.jsonl.gz --concurrency 1,8 --wait
    """
    from engine.bench.records import Point

    named = [_named(text, number) for number, text in enumerate(servers)]
    points = tuple(Point(name=name, url=url) for name, url in named)
    begin("run", points, points[0].name if len(points) > 1 else "", given, as_json)


@bench.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--resume", "again", is_flag=True, help="Go on with the sweep of this name.")
@click.option("--here", is_flag=True, help="Run in this terminal; servers are still jobs of the engine.")
@click.option("--wait", is_flag=True, help="Wait for the end, then print the comparison.")
@_json_option
def sweep(file: Path, again: bool, here: bool, wait: bool, as_json: bool) -> None:
    """Launch, check, measure and stop one server after the other, as FILE (TOML) says; docs/bench.md has examples.

    Example: alula bench sweep drafts.toml --wait
    """
    from console.command_line.bench_running import go_on, start_plan
    from engine.bench.records import BenchError
    from engine.bench.sweep_file import read_sweep

    try:
        plan = read_sweep(file)
    except BenchError as error:
        leave(f"{error}\n{error.remedy}", as_json)
    if again:
        go_on(plan.name, here=here, wait=wait, as_json=as_json)
    start_plan(plan, here=here, wait=wait, as_json=as_json)


@bench.command("show")
@click.argument("name", required=False)
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
@_json_option
def show_bench(name: str | None, watch: bool, as_json: bool) -> None:
    """All benchmarks; with NAME (or a run folder), its progress and comparison.

    Exit code 0; 1 if a configuration could not be measured; 2 where there is no such benchmark.

    Example: alula bench show drafts
    """
    from console.command_line.bench_views import look_at, look_at_all

    look = look_at_all if name is None else lambda database: look_at(database, name)
    sys.exit(show(look, as_json=as_json, watch=watch))


@bench.command()
@click.argument("names", nargs=-1, required=True)
@_json_option
def compare(names: tuple[str, ...], as_json: bool) -> None:
    """Put several benchmarks (names or run folders) beside one another; the first one is the baseline.

    Example: alula bench compare plain eagle3
    """
    from console.command_line.bench_running import folder_of
    from console.command_line.bench_views import comparison_lines
    from engine.bench.comparison import compare_folders
    from engine.bench.records import BenchError

    folders = [folder_of(name, as_json) for name in names]
    try:
        found = compare_folders(folders)
    except BenchError as error:
        leave(f"{error}\n{error.remedy}", as_json)
    click.echo(to_json(found) if as_json else "\n".join(comparison_lines(found)))


@bench.command()
@click.argument("name")
@click.option(
    "--output",
    "outputs",
    required=True,
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="FILE.md, .csv, .jsonl or .html; may be given several times.",
)
@_json_option
def export(name: str, outputs: tuple[Path, ...], as_json: bool) -> None:
    """Write a comparison as Markdown, CSV, JSONL, or one HTML file with plots that needs nothing else.

    Example: alula bench export drafts --output drafts.html
    """
    from console.command_line.bench_running import folder_of
    from engine.bench.records import BenchError
    from engine.bench.report.files import write_report
    from engine.bench.tuning import tuned

    try:
        found = tuned(folder_of(name, as_json))
        for output in outputs:
            write_report(found, output)
    except BenchError as error:
        leave(f"{error}\n{error.remedy}", as_json)
    files = [str(output) for output in outputs]
    value = {"file": files[0], "files": files, "rows": len(found.rows)}
    click.echo(to_json(value) if as_json else f"written: {', '.join(files)}")


@bench.command()
@click.argument("name")
@_json_option
def stop(name: str, as_json: bool) -> None:
    """Stop a benchmark; complete measurements are kept.

    Example: alula bench stop drafts
    """
    sys.exit(ask("bench.stop", {"name": name}, as_json=as_json, said=lambda answer: f"{answer['name']} is stopping"))


@bench.command()
@click.argument("name")
@click.option("--wait", is_flag=True, help="Wait for the end, then print the comparison.")
@_json_option
def resume(name: str, wait: bool, as_json: bool) -> None:
    """Measure what is not complete yet.

    Example: alula bench resume drafts
    """
    from console.command_line.bench_running import go_on

    go_on(name, here=False, wait=wait, as_json=as_json)


@bench.command()
@click.option("--baseline", required=True, type=click.FloatRange(0, min_open=True), help="Tokens a second without.")
@click.option("--speculative", required=True, type=click.FloatRange(0, min_open=True), help="Tokens a second with.")
@click.option("--accept-length", required=True, type=click.FloatRange(1), help="The bonus token counted.")
@_json_option
def economics(baseline: float, speculative: float, accept_length: float, as_json: bool) -> None:
    """What a speed and an accept length say of break-even.

    Example: alula bench economics --baseline 90 --speculative 82.3 --accept-length 2.1
    """
    from engine.bench.economics import Estimate, verdict
    from engine.bench.economics import economics as reckon

    found = reckon(Estimate(baseline), Estimate(speculative), Estimate(accept_length))
    if as_json:
        click.echo(to_json(found))
        return
    click.echo(f"speed-up              {found.speedup.value:.3f}x")
    click.echo(f"cost of a round       {found.round_cost.value:.2f} baseline steps")
    click.echo(f"verdict               {verdict(found)}")
    for wanted, length in found.needed_accept_length.items():
        click.echo(f"for {wanted + 'x':<18}accept length {length:.2f}")


bench.add_command(tune)


def leave(message: str, as_json: bool) -> NoReturn:
    """Say why, on standard error, and end with exit code 2."""
    first, _, remedy = message.partition("\n")
    click.echo(to_json({"error": first, "remedy": remedy}) if as_json else f"alula: {message}", err=True)
    sys.exit(2)


def _named(text: str, number: int) -> tuple[str, str]:
    name, found, url = text.partition("=")
    if found and "/" not in name:
        return name, url
    return f"server{number + 1}" if number else "server", text
