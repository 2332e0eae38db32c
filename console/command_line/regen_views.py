"""What `alula regen` prints of runs."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec

from console.command_line.live_view import View, table
from state.outside_text import plain_line
from state.records.regeneration import Regeneration, RegenerationProgress
from state.regenerations import find_regeneration, latest_progress, read_regenerations
from widgets import figures

BAR_CELLS = 40
STALE_S = 5.0


def look_at_all(database: sqlite3.Connection) -> View:
    """A row for each run."""
    runs = [(run, latest_progress(database, run.id)) for run in read_regenerations(database)]
    rows = [
        [run.name, run.state, f"{progress.done if progress else 0}/{run.total}", _failed(progress), _eta(run, progress)]
        for run, progress in runs
    ]
    lines = table(["RUN", "STATE", "DONE", "FAILED", "LEFT"], rows, right=[2, 3])
    empty = ["No run yet. Start one: alula regen start prompts.jsonl --server http://127.0.0.1:30000"]
    return View(lines if rows else empty, [_value(run, progress) for run, progress in runs])


def look_at(database: sqlite3.Connection, name: str | None) -> View:
    """One run in full; the newest where no name is given."""
    run = find_regeneration(database, name) if name else next(iter(read_regenerations(database)), None)
    if run is None:
        what = f"there is no run {plain_line(name, 80)}" if name else "there is no run yet"
        return View([what, "see them: alula regen list"], {"error": what}, exit_code=2)
    progress = latest_progress(database, run.id)
    return View(_lines(run, progress), _value(run, progress), exit_code=1 if progress and progress.failed else 0)


def _lines(run: Regeneration, progress: RegenerationProgress | None) -> list[str]:
    lines = [f"{run.name}  {run.state}" + (f"  {plain_line(run.message)}" if run.message else "")]
    lines.append(f"  asks      {plain_line(run.model or '–', 100)} at {plain_line(run.server_url, 100)}")
    if progress is None:
        return lines
    ended = progress.done + progress.failed
    share = ended / run.total if run.total else None
    filled = int(BAR_CELLS * (share or 0))
    lines.append(f"  [{'#' * filled}{'.' * (BAR_CELLS - filled)}] {figures.share(share, 1)}")
    lines.append(
        f"  done      {figures.count(progress.done)} of {figures.count(run.total)}, "
        f"{figures.count(progress.in_flight)} in flight, {figures.count(run.rejected)} input records rejected"
    )
    lines.append(
        f"  speed     {figures.rate(progress.tokens_per_s_now)} now, "
        f"{figures.rate(progress.tokens_per_s_overall)} overall, {figures.count(progress.completion_tokens)} tokens"
    )
    lines.append(f"  left      {_eta(run, progress)}")
    for kind, count in sorted(progress.failed_by_kind.items()):
        lines.append(f"  failed    {figures.count(count)} {kind}: alula regen retry {run.name} --kind {kind}")
    if run.rejected:
        lines.append(f"  rejected  see {Path(run.run_folder) / 'rejected.jsonl'} once the run is exported")
    return lines


def _eta(run: Regeneration, progress: RegenerationProgress | None) -> str:
    if run.state != "running" or progress is None:
        return "–"
    text = figures.eta(progress.eta_s, progress.eta_low_s, progress.eta_high_s)
    if progress.eta_s is not None:
        text += f", done about {time.strftime('%a %H:%M', time.localtime(progress.taken_at + progress.eta_s))}"
    return figures.stale(text, time.time() - progress.taken_at, STALE_S)


def _failed(progress: RegenerationProgress | None) -> str:
    return figures.count(progress.failed) if progress else "–"


def _value(run: Regeneration, progress: RegenerationProgress | None) -> dict[str, Any]:
    return {"run": msgspec.to_builtins(run), "progress": msgspec.to_builtins(progress)}
