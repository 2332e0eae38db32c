"""Regenerations: prompts answered again by the target model."""

from typing import Any, Literal

import msgspec

RegenerationState = Literal["running", "paused", "done", "failed", "stopped"]


class Regeneration(msgspec.Struct, frozen=True, kw_only=True):
    """One run over one set of inputs. Its answers lie in `run_folder`, never in the database."""

    id: int = 0
    name: str
    run_folder: str
    job_id: int | None = None
    """The job that works on it now, or worked on it last."""
    inputs: tuple[str, ...]
    server_url: str
    model: str | None = None
    sampling: dict[str, Any] = {}
    concurrency: int
    total: int
    """Readable samples in the inputs."""
    rejected: int = 0
    """Input records that could not be used; `rejected.jsonl` in the run folder says why."""
    created_at: float
    state: RegenerationState = "running"
    message: str = ""
    fleet: str | None = None
    """The fleet whose samples it shares with others; `None` for a run of its own."""


class RegenerationProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A regeneration at one moment."""

    run_id: int
    taken_at: float
    done: int
    failed: int
    failed_by_kind: dict[str, int] = {}
    in_flight: int
    completion_tokens: int
    tokens_per_s_now: float | None
    tokens_per_s_5m: float | None = None
    """Mean of the last five minutes."""
    tokens_per_s_overall: float | None
    eta_s: float | None
    """Median estimate of the seconds left; `None` while it cannot be known."""
    eta_low_s: float | None
    eta_high_s: float | None
    """Ends of the 90 % range."""


class SourceProgress(msgspec.Struct, frozen=True):
    """How far one input is."""

    name: str
    total: int
    done: int
    failed: int
    completion_tokens: int
    flaws: dict[str, int] = {}
    """Answers that look wrong, by kind of flaw."""


class SlowSample(msgspec.Struct, frozen=True):
    """A sample that has been in flight for long."""

    id: str
    seconds: float


class RegenerationServer(msgspec.Struct, frozen=True):
    """One server of a run, as its worker sees it."""

    url: str
    state: Literal["asked", "away", "overloaded", "leaving"]
    message: str
    """Why it is not asked."""
    weight: float
    in_flight: int
    concurrency: int
    """As many are asked at once at most."""
    answered: int
    failed: int
    tokens_per_s: float | None
    decision: str = ""
    """Why the concurrency is what it is."""


class RegenerationDetail(msgspec.Struct, frozen=True, kw_only=True):
    """The newest state of a run beside its figures: one row, written over."""

    run_id: int
    sources: tuple[SourceProgress, ...] = ()
    slowest: tuple[SlowSample, ...] = ()
    """In flight for the longest."""
    moved: str = ""
    """Why the finish moved in the last ten minutes; empty where it stands."""
    concurrency: int = 0
    servers: tuple[RegenerationServer, ...] = ()
