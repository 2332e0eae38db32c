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
    tokens_per_s_overall: float | None
    eta_s: float | None
    """Median estimate of the seconds left; `None` while it cannot be known."""
    eta_low_s: float | None
    eta_high_s: float | None
    """Ends of the 80 % range."""
