"""What `alula bench` prints: runs, and comparisons as a table with what follows from it."""

import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from console.command_line.live_view import View, table
from state.bench import find_bench, latest_bench_progress, read_benches
from state.outside_text import plain_line
from state.records.bench import Bench, BenchProgress
from widgets import figures

if TYPE_CHECKING:
    from engine.bench.comparison import Comparison

WIDE = 400


def look_at_all(database: sqlite3.Connection) -> View:
    """A row for each benchmark."""
    benches = [(bench, latest_bench_progress(database, bench.id)) for bench in read_benches(database)]
    rows = [
        [bench.name, bench.kind, bench.state, _done(bench, progress), _left(bench, progress), bench.message[:60]]
        for bench, progress in benches
    ]
    lines = table(["NAME", "KIND", "STATE", "DONE", "LEFT", ""], rows, right=[3])
    empty = ["No benchmark yet. Run one: alula bench run --server http://127.0.0.1:30000 --prompts prompts.jsonl"]
    return View(lines if rows else empty, [_value(bench, progress) for bench, progress in benches])


def look_at(database: sqlite3.Connection, name: str) -> View:
    """One benchmark: how far it is, and what it says so far."""
    from engine.bench.records import BenchError
    from engine.bench.tuning import tuned

    bench = find_bench(database, name) or find_bench(database, str(Path(name).absolute()))
    folder = Path(bench.run_folder) if bench is not None else Path(name)
    if bench is None and not folder.is_dir():
        what = f"there is no benchmark {plain_line(name, 80)}"
        return View([what, "see them: alula bench show"], {"error": what}, exit_code=2)
    try:
        comparison = tuned(folder)
    except BenchError as error:
        return View([str(error), error.remedy], {"error": str(error)}, exit_code=2)
    progress = latest_bench_progress(database, bench.id) if bench is not None else None
    lines = [] if bench is None else _standing(bench, progress)
    value = {"comparison": msgspec.to_builtins(comparison), **(_value(bench, progress) if bench else {})}
    return View([*lines, *comparison_lines(comparison)], value, exit_code=1 if comparison.problems else 0)


def comparison_lines(comparison: "Comparison", width: int | None = None) -> list[str]:
    """The table, foretold step counts, and sentences. The width is the terminal's where none is given."""
    from engine.bench.report.words import HEADINGS, RIGHT, foretold_rows, sentences, used_columns
    from engine.bench.report.words import table as cells

    rows = cells(comparison)
    if not rows:
        lines = ["nothing is measured yet"]
    else:
        shown = used_columns(rows)
        headings = [HEADINGS[place] for place in shown]
        right = [index for index, place in enumerate(shown) if place in RIGHT]
        columns = width or shutil.get_terminal_size((WIDE, 24)).columns
        lines = _fitted(headings, [[row[place] for place in shown] for row in rows], right, columns)
    for foretold in comparison.foretold:
        name = Path(foretold.draft).name
        lines += ["", f"steps of {plain_line(name, 60)} under {foretold.load}:"]
        head = ["steps", "accept", "c", "speed-up", ""]
        lines += [f"  {line}" for line in table(head, foretold_rows(foretold), right=[0, 1, 2, 3])]
    said = sentences(comparison)
    return lines + ([""] if said else []) + [plain_line(text, WIDE) for text in said]


def _fitted(headings: list[str], rows: list[list[str]], right: list[int], width: int) -> list[str]:
    """As many columns as there is room for; the first four always."""
    for count in range(len(headings), 4, -1):
        lines = table(headings[:count], [row[:count] for row in rows], [place for place in right if place < count])
        if max(map(len, lines)) <= width:
            return lines
    return table(headings[:4], [row[:4] for row in rows], [place for place in right if place < 4])


def _standing(bench: Bench, progress: BenchProgress | None) -> list[str]:
    lines = [f"{bench.name}  {bench.state}" + (f"  {plain_line(bench.message)}" if bench.message else "")]
    if progress is not None and bench.state == "running":
        requests = f"{figures.count(progress.requests_done)} of {figures.count(progress.requests_total)} requests"
        lines.append(f"  now    {plain_line(progress.cell)}, {requests}, {figures.rate(progress.tokens_per_s_now)}")
        lines.append(f"  left   {_left(bench, progress)}   ({_done(bench, progress)} measurements done)")
    lines.append(f"  folder {bench.run_folder}")
    return [*lines, ""]


def _done(bench: Bench, progress: BenchProgress | None) -> str:
    return f"{progress.cells_done if progress else 0}/{bench.cells}"


def _left(bench: Bench, progress: BenchProgress | None) -> str:
    return figures.duration(progress.eta_s) if progress and bench.state == "running" else figures.ABSENT


def _value(bench: Bench, progress: BenchProgress | None) -> dict[str, Any]:
    return {"bench": msgspec.to_builtins(bench), "progress": msgspec.to_builtins(progress)}
