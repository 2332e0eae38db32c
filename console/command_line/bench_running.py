"""Starts benchmarks from the command line: shared options, in the background or here, and waiting for the end."""

import logging
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from console.command_line.live_view import could_not, to_json
from engine.client import Client, CommandRefused, EngineUnavailable
from state.bench import find_bench, latest_bench_progress
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.outside_text import plain_line

if TYPE_CHECKING:
    from engine.bench.progress import Progress
    from engine.bench.records import Load, Plan, Point

LOOK_S = 0.3
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--prompts", type=click.Path(dir_okay=False), help="JSONL (or .gz): messages, prompt, turns."),
    click.option("--random-words", metavar="FEWEST,MOST", help="Random prompts of such lengths instead of a file."),
    click.option("--limit", type=click.IntRange(1), help="Only so many prompts."),
    click.option("--seed", default=0, show_default=True, help="Of random prompts, shuffling and arrivals."),
    click.option("--shuffle", is_flag=True, help="Take the prompts in random order."),
    click.option("--concurrency", default="", help="Requests at once: 1,4,8. Default: 1."),
    click.option("--rate", default="", help="Requests a second at random moments (Poisson): 0.5,2."),
    click.option("--requests", type=click.IntRange(1), help="So many for each load; default: each prompt once."),
    click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds for each load."),
    click.option("--warmup", default=2, show_default=True, type=click.IntRange(0), help="Requests asked and dropped."),
    click.option("--repeats", default=1, show_default=True, type=click.IntRange(1), help="Rounds over all servers."),
    click.option("--max-tokens", default=256, show_default=True, type=click.IntRange(1), help="Longest answer."),
    click.option("--ignore-eos", is_flag=True, help="Always go on to --max-tokens."),
    click.option("--temperature", default=0.0, show_default=True, type=click.FloatRange(0, 2), help="0 is greedy."),
    click.option("--top-p", type=click.FloatRange(0, 1)),
    click.option("--sampling-seed", type=int, help="Sent with each request."),
    click.option(
        "--api", default="auto", show_default=True, type=click.Choice(["auto", "generate", "chat", "completions"])
    ),
    click.option("--raw", is_flag=True, help="Send prompts without the model's chat template."),
    click.option("--no-stream", is_flag=True, help="Ask for whole answers; then there is no TTFT."),
    click.option(
        "--flush-cache", is_flag=True, help="Empty the prefix cache before each load. Not on a shared server."
    ),
    click.option("--api-key-variable", default="", help="Environment variable that holds the server's API key."),
    click.option("--gpus", default="", help="Indices of the GPUs whose power counts: 0,1."),
    click.option("--name", default="", help="Name of the benchmark; made from the time where not given."),
    click.option("--here", is_flag=True, help="Run in this terminal instead of in the background."),
    click.option("--wait", is_flag=True, help="Wait for the end, then print the comparison."),
)


def measuring(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that measures."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def begin(kind: Any, points: "tuple[Point, ...]", baseline: str, given: dict[str, Any], as_json: bool) -> NoReturn:
    """Make a plan of the options, and start it."""
    start_plan(plan_of(kind, points, baseline, given), here=given["here"], wait=given["wait"], as_json=as_json)


def plan_of(kind: Any, points: "tuple[Point, ...]", baseline: str, given: dict[str, Any]) -> "Plan":
    """The plan that the options describe."""
    from engine.bench.records import Plan, PromptSet, Sampling

    if bool(given["prompts"]) == bool(given["random_words"]):
        raise click.UsageError("give --prompts FILE, or --random-words FEWEST,MOST.")
    words = _numbers(given["random_words"], "--random-words", int)
    if words and len(words) != 2:
        raise click.UsageError("--random-words takes two numbers: FEWEST,MOST.")
    prompts = PromptSet(
        kind="random" if words else "file",
        path=str(Path(given["prompts"]).expanduser().absolute()) if given["prompts"] else "",
        limit=given["limit"],
        seed=given["seed"],
        shuffle=given["shuffle"],
        input_words=(words[0], words[1]) if words else (128, 512),
        count=given["limit"] or given["requests"] or 64,
    )
    return Plan(
        name=given["name"] or f"{kind}-{time.strftime('%m%d-%H%M%S')}",
        kind=kind,
        points=points,
        baseline=baseline,
        loads=_loads(given),
        repeats=given["repeats"],
        prompts=prompts,
        sampling=Sampling(
            temperature=given["temperature"],
            top_p=given["top_p"],
            seed=given["sampling_seed"],
            max_tokens=given["max_tokens"],
            ignore_eos=given["ignore_eos"],
        ),
        api=given["api"],
        stream=not given["no_stream"],
        raw=given["raw"],
        flush_cache=given["flush_cache"],
        api_key_variable=given["api_key_variable"],
        gpus=tuple(_numbers(given["gpus"], "--gpus", int)),
        created_at=time.time(),
    )


def start_plan(plan: "Plan", *, here: bool, wait: bool, as_json: bool) -> NoReturn:
    """Start it, in the background or here, and end with its exit code."""
    import msgspec

    from engine.bench.plans import in_order, validate
    from engine.bench.prompts import read_prompts
    from engine.bench.records import BenchError

    try:
        plan = in_order(plan)
        validate(plan)
        read_prompts(plan.prompts)
        if here:
            sys.exit(_here(plan, None, as_json))
        client = Client(state_folder())
        client.ensure_engine()
        answer = client.ask("bench.start", {"plan": msgspec.to_builtins(plan)}, timeout_s=15.0)
    except BenchError as error:
        _leave(str(error), error.remedy, as_json)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))
    _follow(answer, "has started", wait, as_json)


def go_on(name: str, *, here: bool, wait: bool, as_json: bool) -> NoReturn:
    """Measure what is missing."""
    if here:
        folder = folder_of(name, as_json)
        sys.exit(_here(None, folder, as_json))
    try:
        client = Client(state_folder())
        client.ensure_engine()
        answer = client.ask("bench.resume", {"name": name}, timeout_s=15.0)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        sys.exit(could_not(error, as_json=as_json))
    _follow(answer, "goes on", wait, as_json)


def folder_of(name: str, as_json: bool) -> Path:
    """The run folder of a benchmark by its name; a path stands for itself."""
    if (Path(name) / "plan.json").is_file():
        return Path(name).absolute()
    try:
        with closing(open_database(state_folder().database_path)) as database:
            bench = find_bench(database, name)
    except (StateError, sqlite3.Error) as error:
        _leave(str(error), getattr(error, "remedy", ""), as_json)
    if bench is None:
        _leave(f"there is no benchmark {plain_line(name, 80)}", "see them: alula bench show", as_json)
    return Path(bench.run_folder)


def _follow(answer: dict[str, Any], what: str, wait: bool, as_json: bool) -> NoReturn:
    if not wait:
        said = f"{answer['name']} {what} as job {answer['job_id']}\nalula bench show {answer['name']} --watch"
        click.echo(to_json(answer) if as_json else said)
        sys.exit(0)
    with closing(open_database(state_folder().database_path)) as database:
        last = ""
        while (bench := find_bench(database, answer["name"])) is not None and bench.state == "running":
            progress = latest_bench_progress(database, bench.id)
            if progress is not None and progress.cell != last and not as_json:
                last = progress.cell
                click.echo(plain_line(last), err=True)
            time.sleep(LOOK_S)
    assert bench is not None
    if bench.message and not as_json:
        click.echo(plain_line(f"{bench.state}: {bench.message}", 500), err=True)
    _print_comparison(Path(bench.run_folder), as_json)
    sys.exit(0 if bench.state == "done" and not bench.message else 1)


def _here(plan: "Plan | None", folder: Path | None, as_json: bool) -> int:
    from engine.bench.plans import fresh_folder
    from engine.bench.worker import work

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    if folder is None:
        assert plan is not None
        folder = fresh_folder(state_folder().runs_path, plan)
    code = work(folder, None if as_json or not sys.stderr.isatty() else _draw)
    if sys.stderr.isatty() and not as_json:
        click.echo("\r\x1b[K", nl=False, err=True)
    if code in (0, 1):
        _print_comparison(folder, as_json)
    return code


def _draw(progress: "Progress") -> None:
    """One line, drawn over itself."""
    report = progress.report(0)
    speed = f"{report.tokens_per_s_now:.0f} tok/s" if report.tokens_per_s_now is not None else ""
    left = f", {report.eta_s:.0f} s left" if report.eta_s is not None else ""
    requests = f"{report.requests_done}/{report.requests_total or '?'}"
    text = f"{report.cells_done}/{progress.total}  {plain_line(report.cell)}  {requests}  {speed}{left}"
    click.echo(f"\r\x1b[K{text[:118]}", nl=False, err=True)


def _print_comparison(folder: Path, as_json: bool) -> None:
    from console.command_line.bench_views import comparison_lines
    from engine.bench.records import BenchError
    from engine.bench.tuning import tuned

    try:
        found = tuned(folder)
    except BenchError as error:
        _leave(str(error), error.remedy, as_json)
    click.echo(to_json(found) if as_json else "\n".join([*comparison_lines(found), "", f"folder: {folder}"]))


def _loads(given: dict[str, Any]) -> "tuple[Load, ...]":
    from engine.bench.records import Load

    shared = {"requests": given["requests"], "duration_s": given["duration"], "warmup": given["warmup"]}
    closed = _numbers(given["concurrency"], "--concurrency", int)
    opened = _numbers(given["rate"], "--rate", float)
    if not closed and not opened:
        closed = [1]
    return (
        *(Load(concurrency=number, **shared) for number in closed),
        *(Load(rate=number, **shared) for number in opened),
    )


def _numbers(text: str | None, option: str, kind: Callable[[str], Any]) -> list[Any]:
    try:
        return [kind(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        raise click.UsageError(f"{option} takes numbers with commas between them, not {text!r}.") from None


def _leave(message: str, remedy: str, as_json: bool) -> NoReturn:
    click.echo(to_json({"error": message, "remedy": remedy}) if as_json else f"alula: {message}\n{remedy}", err=True)
    sys.exit(2)
