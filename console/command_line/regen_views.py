"""What `alula regen` prints of runs."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec

from console.command_line.live_view import View, table
from console.command_line.regen_silence import silence_lines
from state.fleets import read_whole, with_fleets
from state.jobs import read_job
from state.outside_text import plain_line
from state.records.regeneration import Regeneration, RegenerationDetail, RegenerationProgress
from state.records.views import RegenerationRow
from state.regenerations import find_regenerations, latest_progress, read_detail, read_regenerations
from widgets import figures

BAR_CELLS = 40
STALE_S = 5.0


def look_at_all(database: sqlite3.Connection) -> View:
    """A row for each run."""
    runs = [(row.run, row.progress) for row in rows_of_all(database)]
    rows = [
        [run.name, run.state, f"{progress.done if progress else 0}/{run.total}", _failed(progress), _eta(run, progress)]
        for run, progress in runs
    ]
    lines = table(["RUN", "STATE", "DONE", "FAILED", "LEFT"], rows, right=[2, 3])
    empty = ["No run yet. Start one: alula regen start prompts.jsonl --server http://127.0.0.1:30000"]
    return View(lines if rows else empty, [_value(run, progress) for run, progress in runs])


def look_at(database: sqlite3.Connection, name: str | None) -> View:
    """One run in full; the newest where no name is given."""
    newest = next(iter(read_regenerations(database)), None)
    row = read_whole(database, name or (newest.fleet or newest.name if newest else ""))
    if row is None:
        what = f"there is no run {plain_line(name, 80)}" if name else "there is no run yet"
        return View([what, "see them: alula regen list"], {"error": what}, exit_code=2)
    run, progress, detail = row.run, row.progress, row.detail
    lines = [*_lines(run, progress), *silence_lines(run, progress, time.time())]
    lines += _detail_lines(run, detail) if detail else []
    shards = [_shard(database, one) for one in find_regenerations(database, run.name)] if run.id < 0 else []
    lines += [f"  shard     {words}" for words, _ in shards]
    if progress is None:
        lines += _job_lines(database, run)
    value = {**_value(run, progress), "detail": msgspec.to_builtins(detail)}
    if shards:
        value["shards"] = [one for _, one in shards]
    return View(lines, value, exit_code=1 if progress and progress.failed else 0)


def rows_of_all(database: sqlite3.Connection) -> list[RegenerationRow]:
    """Every run, the newest first; the shards of a fleet behind the row of the whole."""
    rows = [
        RegenerationRow(run, latest_progress(database, run.id), (), read_detail(database, run.id))
        for run in read_regenerations(database)
    ]
    return with_fleets(rows)


def look_at_servers(database: sqlite3.Connection, name: str) -> View:
    """What each server of a run is given."""
    row = read_whole(database, name)
    if row is None:
        what = f"there is no run {plain_line(name, 80)}"
        return View([what, "see them: alula regen list"], {"error": what}, exit_code=2)
    found = row.detail.servers if row.detail else ()
    rows = [
        [one.url, one.state, f"{one.weight:g}", f"{one.in_flight}/{one.concurrency}", figures.count(one.answered),
         figures.rate(one.tokens_per_s), one.message or one.decision]
        for one in found
    ]  # fmt: skip
    lines = table(["SERVER", "STATE", "WEIGHT", "AT ONCE", "ANSWERED", "SPEED", "WHY"], rows, right=[2, 3, 4, 5])
    return View(lines if rows else ["no worker has told of its servers yet"], msgspec.to_builtins(found))


def _shard(database: sqlite3.Connection, run: Regeneration) -> tuple[str, dict[str, Any]]:
    progress = latest_progress(database, run.id)
    done = f"{figures.count(progress.done if progress else 0)} of {figures.count(run.total)}"
    words = f"{run.name} {run.state}, {done}, {_failed(progress)} failed, left {_eta(run, progress)}"
    return words + (f"; {plain_line(run.message, 120)}" if run.message else ""), _value(run, progress)


def _job_lines(database: sqlite3.Connection, run: Regeneration) -> list[str]:
    """What a worker that has told nothing yet waits for: a place on a cluster, for example."""
    job = read_job(database, run.job_id) if run.job_id is not None else None
    if job is None or run.state != "running":
        return []
    return [f"  job {job.id:<5} {job.state}" + (f": {plain_line(job.reason, 200)}" if job.reason else "")]


def _detail_lines(run: Regeneration, detail: RegenerationDetail) -> list[str]:
    lines = [f"  moved     {plain_line(detail.moved)}"] if detail.moved and run.state == "running" else []
    if len(detail.sources) > 1 or any(source.flaws for source in detail.sources):
        for source in detail.sources:
            flaws = ", ".join(f"{figures.count(count)} {kind}" for kind, count in sorted(source.flaws.items()))
            share = figures.share((source.done + source.failed) / source.total if source.total else None, 1)
            lines.append(
                f"  source    {plain_line(Path(source.name).name, 40)}: {share} of {figures.count(source.total)}, "
                f"{figures.count(source.completion_tokens)} tokens{'; ' + flaws if flaws else ''}"
            )
    if run.state == "running":
        for server in detail.servers:
            why = server.message or server.decision
            lines.append(
                f"  server    {plain_line(server.url, 60)} {server.state}, {server.in_flight} of {server.concurrency} "
                f"at once, {plain_line(why, 120)}"
            )
        for slow in detail.slowest[:3]:
            lines.append(f"  slowest   {plain_line(slow.id, 60)} for {figures.duration(slow.seconds)}")
    return lines


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
        f"{figures.rate(progress.tokens_per_s_5m)} in 5 min, "
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
