"""Benchmarks and sweeps: where they lie and how far they are. What they measured lies in their run folders."""

from typing import Literal

import msgspec

BenchState = Literal["running", "stopped", "done", "failed"]
BenchKind = Literal["run", "sweep", "tune"]


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark."""

    id: int = 0
    name: str
    kind: BenchKind
    run_folder: str
    job_id: int | None = None
    """The job that works on it now, or worked on it last; `None` where it runs in somebody's terminal."""
    points: int
    cells: int
    """Loads times points times repeats."""
    created_at: float
    state: BenchState = "running"
    message: str = ""


class BenchProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark at one moment."""

    bench_id: int
    taken_at: float
    cells_done: int
    cell: str
    """What is measured now, in words."""
    requests_done: int
    requests_total: int | None
    failed: int
    in_flight: int
    tokens_per_s_now: float | None
    eta_s: float | None
    """Seconds left by what cells of this run took so far; `None` before the first one has ended."""


class BenchRow(msgspec.Struct, frozen=True):
    """A benchmark with its newest progress and its speed of the last minutes."""

    bench: Bench
    progress: BenchProgress | None
    speeds: tuple[tuple[float, float | None], ...] = ()
    """Times and tokens a second, oldest first."""
