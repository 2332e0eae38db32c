"""Reads a sweep: a TOML file that names servers to launch in turn, or that already run, and how to measure them.

Flags are SGLang's. A grid is every combination of its lists; with top-k 1 the number of draft tokens is always one more
than the number of steps (sglang 0.5.23, arg_groups/speculative_hook.py), so it need not be given.
"""

import itertools
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.bench.plans import in_order, validate
from engine.bench.records import Api, BenchError, Load, Plan, Point, PromptSet, Sampling
from state.outside_file import read_small_text


class _Server(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all launched points share."""

    command: tuple[str, ...]
    environment: dict[str, str] = {}
    working_dir: str = ""
    ready_timeout_s: float = 1800.0


class _Point(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One configuration."""

    name: str
    url: str = ""
    command: tuple[str, ...] = ()
    """In place of the shared one."""
    arguments: tuple[str, ...] = ()
    """After the shared command."""
    environment: dict[str, str] = {}
    launch_despite_errors: bool = False


class _Grid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every combination of its lists."""

    name: str
    algorithm: str = "EAGLE3"
    draft: dict[str, str]
    """Short name to path or repository."""
    num_steps: tuple[int, ...] = (3,)
    topk: tuple[int, ...] = (1,)
    draft_tokens: tuple[int, ...] = ()
    """Only for top-k above 1."""
    cuda_graphs: tuple[bool, ...] = (True,)
    no_graphs_argument: str = "--disable-cuda-graph"
    arguments: tuple[str, ...] = ()
    launch_despite_errors: bool = False


class _Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file."""

    name: str
    prompts: str | PromptSet
    baseline: str = "baseline"
    limit: int | None = None
    concurrency: tuple[int, ...] = ()
    rate: tuple[float, ...] = ()
    requests: int | None = None
    duration_s: float | None = None
    warmup: int = 2
    repeats: int = 1
    sampling: Sampling = Sampling()
    api: Api = "auto"
    raw: bool = False
    stream: bool = True
    flush_cache: bool = True
    api_key_variable: str = ""
    gpus: tuple[int, ...] = ()
    server: _Server | None = None
    point: tuple[_Point, ...] = ()
    grid: tuple[_Grid, ...] = ()


def read_sweep(path: Path) -> Plan:
    """The plan that a file describes. Relative paths of prompts are taken from the file's folder; `$NAME` is replaced
    by the environment's value in commands, arguments and paths.

    Raises:
        BenchError: It cannot be read, or not carried out.
    """
    try:
        sweep = msgspec.convert(_expanded(tomllib.loads(read_small_text(path))), _Sweep)
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"cannot read {path}: {error}", "give a TOML file") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BenchError(f"{path} is not TOML: {error}", "repair the file") from error
    except msgspec.ValidationError as error:
        raise BenchError(f"{path}: {error}", "docs/bench.md names all fields") from error
    plan = in_order(plan_of(sweep, path.parent))
    validate(plan)
    return plan


def plan_of(sweep: _Sweep, folder: Path) -> Plan:
    """The plan of a decoded file."""
    shared = {"requests": sweep.requests, "duration_s": sweep.duration_s, "warmup": sweep.warmup}
    loads = [Load(concurrency=number, **shared) for number in sweep.concurrency]  # type: ignore[arg-type]
    loads += [Load(rate=number, **shared) for number in sweep.rate]  # type: ignore[arg-type]
    points = [_point(sweep, one) for one in sweep.point] + [
        point for grid in sweep.grid for point in _grid(sweep, grid)
    ]
    named = any(point.name == sweep.baseline for point in points)
    return Plan(
        name=sweep.name,
        kind="sweep",
        points=tuple(points),
        baseline=sweep.baseline if named or sweep.baseline != "baseline" else "",
        loads=tuple(loads) or (Load(concurrency=1, **shared),),  # type: ignore[arg-type]
        repeats=sweep.repeats,
        prompts=_prompts(sweep, folder),
        sampling=sweep.sampling,
        api=sweep.api,
        stream=sweep.stream,
        raw=sweep.raw,
        flush_cache=sweep.flush_cache,
        api_key_variable=sweep.api_key_variable,
        gpus=sweep.gpus,
    )


def chain_arguments(algorithm: str, draft: str, num_steps: int, topk: int, draft_tokens: int | None) -> list[str]:
    """SGLang's flags of one draft shape."""
    tokens = num_steps + 1 if topk == 1 or draft_tokens is None else draft_tokens
    return [
        "--speculative-algorithm", algorithm, "--speculative-draft-model-path", draft,
        "--speculative-num-steps", str(num_steps), "--speculative-eagle-topk", str(topk),
        "--speculative-num-draft-tokens", str(tokens),
    ]  # fmt: skip


def _prompts(sweep: _Sweep, folder: Path) -> PromptSet:
    given = PromptSet(path=sweep.prompts) if isinstance(sweep.prompts, str) else sweep.prompts
    path = Path(given.path).expanduser()
    path = path if path.is_absolute() else (folder / path).absolute()
    return msgspec.structs.replace(
        given, path=str(path) if given.kind == "file" else "", limit=given.limit if sweep.limit is None else sweep.limit
    )


def _point(sweep: _Sweep, point: _Point) -> Point:
    if point.url:
        if point.command or point.arguments:
            raise BenchError(f"{point.name} has a url and a command", "give one of them")
        return Point(name=point.name, url=point.url)
    server = sweep.server
    if server is None and not point.command:
        raise BenchError(f"{point.name} has neither a url nor a command", "add [server] with the shared command")
    return Point(
        name=point.name,
        command=(*(point.command or (server.command if server else ())), *point.arguments),
        environment={**(server.environment if server else {}), **point.environment},
        working_dir=(server.working_dir if server else "") or "/",
        ready_timeout_s=server.ready_timeout_s if server else 1800.0,
        launch_despite_errors=point.launch_despite_errors,
    )


def _grid(sweep: _Sweep, grid: _Grid) -> Iterator[Point]:
    tokens: tuple[int | None, ...] = grid.draft_tokens or (None,)
    for draft, steps, topk, count, graphs in itertools.product(
        grid.draft.items(), grid.num_steps, grid.topk, tokens, grid.cuda_graphs
    ):
        if topk == 1 and count != tokens[0]:
            continue  # a chain has steps + 1 tokens whatever is asked for
        words = [grid.name, *([draft[0]] if len(grid.draft) > 1 else []), f"s{steps}"]
        words += [f"k{topk}"] if len(grid.topk) > 1 else []
        words += [f"t{count}"] if topk > 1 and len(tokens) > 1 else []
        words += ["nographs"] if not graphs else []
        arguments = chain_arguments(grid.algorithm, draft[1], steps, topk, count)
        arguments += [] if graphs else [grid.no_graphs_argument]
        point = _Point(
            name="-".join(words),
            arguments=(*arguments, *grid.arguments),
            launch_despite_errors=grid.launch_despite_errors,
        )
        yield msgspec.structs.replace(_point(sweep, point), num_steps=steps)


def _expanded(value: Any) -> Any:
    if isinstance(value, str):
        return os.path.expandvars(value)
    if isinstance(value, list):
        return [_expanded(one) for one in value]
    return {key: _expanded(one) for key, one in value.items()} if isinstance(value, dict) else value
