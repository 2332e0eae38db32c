"""A run as operators see it: one of its own, or all shards of a fleet put together."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from state.records.regeneration import (
    RegenerationDetail,
    RegenerationProgress,
    RegenerationServer,
    RegenerationState,
    SourceProgress,
)
from state.records.views import RegenerationRow
from state.regenerations import find_regenerations, latest_progress, read_detail

MOST_SLOWEST = 5


def read_whole(database: sqlite3.Connection, name: str) -> RegenerationRow | None:
    """A run by name or id, or a fleet by its name."""
    found = find_regenerations(database, name)
    rows = [RegenerationRow(run, latest_progress(database, run.id), (), read_detail(database, run.id)) for run in found]
    return merged(rows) if rows else None


def merged(rows: Sequence[RegenerationRow]) -> RegenerationRow:
    """Several shards as one; a single run stays what it is. The id of a fleet is that of its first shard, negative."""
    if len(rows) == 1:
        return rows[0]
    first = rows[0].run
    run = msgspec.structs.replace(
        first,
        id=-first.id,
        name=first.fleet or first.name,
        run_folder=str(Path(first.run_folder).parent),
        total=sum(row.run.total for row in rows),
        rejected=sum(row.run.rejected for row in rows),
        concurrency=sum(row.run.concurrency for row in rows),
        state=_state([row.run.state for row in rows]),
        message=_message(rows),
    )
    told = [row for row in rows if row.progress is not None]
    running = [row for row in told if row.run.state == "running"]
    return RegenerationRow(run, _progress(told, running, run.id), _speeds(rows), _detail(rows, running, run.id))


def with_fleets(rows: Sequence[RegenerationRow]) -> list[RegenerationRow]:
    """The same rows, each fleet's whole before the first of its shards."""
    found: list[RegenerationRow] = []
    seen: set[str] = set()
    for row in rows:
        fleet = row.run.fleet
        if fleet is not None and fleet not in seen:
            seen.add(fleet)
            shards = sorted((one for one in rows if one.run.fleet == fleet), key=lambda one: one.run.id)
            found.append(merged(shards))
        found.append(row)
    return found


def _state(states: Sequence[RegenerationState]) -> RegenerationState:
    worst: tuple[RegenerationState, ...] = ("running", "failed", "paused", "stopped")
    return next((state for state in worst if state in states), "done")


def _message(rows: Sequence[RegenerationRow]) -> str:
    counts = Counter(row.run.state for row in rows)
    words = ", ".join(f"{count} {state}" for state, count in counts.items())
    said = [f"{row.run.name}: {row.run.message}" for row in rows if row.run.message and row.run.state != "done"]
    return "; ".join([f"{len(rows)} shards: {words}", *said[:3]])


def _progress(
    told: Sequence[RegenerationRow], running: Sequence[RegenerationRow], run_id: int
) -> RegenerationProgress | None:
    """Sums; the end is that of the shard that ends last."""
    if not told:
        return None
    all_of = [row.progress for row in told if row.progress is not None]
    now = [row.progress for row in running if row.progress is not None]
    failed: Counter[str] = Counter()
    for one in all_of:
        failed.update(one.failed_by_kind)
    etas = [(one.eta_s, one.eta_low_s, one.eta_high_s) for one in now]
    known = bool(etas) and all(eta[0] is not None for eta in etas)
    return RegenerationProgress(
        run_id=run_id,
        taken_at=max(one.taken_at for one in all_of),
        done=sum(one.done for one in all_of),
        failed=sum(one.failed for one in all_of),
        failed_by_kind=dict(failed),
        in_flight=sum(one.in_flight for one in now),
        completion_tokens=sum(one.completion_tokens for one in all_of),
        tokens_per_s_now=_sum(one.tokens_per_s_now for one in now),
        tokens_per_s_5m=_sum(one.tokens_per_s_5m for one in now),
        tokens_per_s_overall=_sum(one.tokens_per_s_overall for one in now or all_of),
        eta_s=max(eta[0] or 0.0 for eta in etas) if known else None,
        eta_low_s=max(eta[1] or 0.0 for eta in etas) if known else None,
        eta_high_s=max(eta[2] or 0.0 for eta in etas) if known else None,
    )


def _detail(
    rows: Sequence[RegenerationRow], running: Sequence[RegenerationRow], run_id: int
) -> RegenerationDetail | None:
    found = [row.detail for row in rows if row.detail is not None]
    if not found:
        return None
    now = [row.detail for row in running if row.detail is not None]
    slowest = sorted((slow for one in now for slow in one.slowest), key=lambda slow: -slow.seconds)
    last = max(running, key=lambda row: row.progress.eta_s or 0.0 if row.progress else 0.0, default=None)
    return RegenerationDetail(
        run_id=run_id,
        sources=_sources(found),
        slowest=tuple(slowest[:MOST_SLOWEST]),
        moved=last.detail.moved if last and last.detail else "",
        concurrency=sum(one.concurrency for one in now),
        servers=_servers(now),
    )


def _sources(details: Iterable[RegenerationDetail]) -> tuple[SourceProgress, ...]:
    found: dict[str, SourceProgress] = {}
    for one in (source for detail in details for source in detail.sources):
        before = found.get(one.name)
        if before is not None:
            flaws = dict(Counter(before.flaws) + Counter(one.flaws))
            one = SourceProgress(
                one.name, before.total + one.total, before.done + one.done, before.failed + one.failed,
                before.completion_tokens + one.completion_tokens, flaws,
            )  # fmt: skip
        found[one.name] = one
    return tuple(found.values())


def _servers(details: Iterable[RegenerationDetail]) -> tuple[RegenerationServer, ...]:
    found: dict[str, RegenerationServer] = {}
    for one in (server for detail in details for server in detail.servers):
        before = found.get(one.url)
        if before is not None:
            worse = before if before.message or not one.message else one
            one = msgspec.structs.replace(
                worse,
                decision=f"each shard: {one.decision.removeprefix('each shard: ')}" if one.decision else "",
                in_flight=before.in_flight + one.in_flight,
                concurrency=before.concurrency + one.concurrency,
                answered=before.answered + one.answered,
                failed=before.failed + one.failed,
                tokens_per_s=_sum((before.tokens_per_s, one.tokens_per_s)),
            )
        found[one.url] = one
    return tuple(found.values())


def _speeds(rows: Sequence[RegenerationRow]) -> tuple[tuple[float, float | None], ...]:
    found: dict[float, list[float | None]] = {}
    for at, speed in (point for row in rows for point in row.speeds):
        found.setdefault(at, []).append(speed)
    return tuple((at, _sum(speeds)) for at, speeds in sorted(found.items()))


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
