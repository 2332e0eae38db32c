"""Jobs: anything that runs in the background and must outlive the screen."""

from typing import Literal

import msgspec

JobState = Literal["queued", "starting", "running", "stopping", "done", "failed", "stopped", "lost"]

ENDED: frozenset[JobState] = frozenset({"done", "failed", "stopped", "lost"})
"""States that a job never leaves."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one argument list. A retry is a new job whose `retry_of` names the old one."""

    id: int = 0
    name: str
    kind: str
    """What it is for: `command`, `serve`, `regen`, `bench`, `train`."""
    state: JobState = "queued"
    argv: tuple[str, ...]
    working_dir: str
    environment: dict[str, str] = {}
    """Variables set on top of the engine's own environment. Never holds secrets."""
    run_folder: str
    """Holds `log.txt` and its rotations, `runner.json` and whatever the job writes."""
    grace_s: float = 10.0
    """Time between SIGTERM and SIGKILL when the job is stopped."""
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    stop_requested_at: float | None = None
    pid: int | None = None
    pid_started_at: float | None = None
    runner_pid: int | None = None
    runner_started_at: float | None = None
    boot_id: str | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    reason: str | None = None
    """Why it ended as it did, in words, for `failed`, `stopped` and `lost`."""
    retry_of: int | None = None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A step in a job's life, for its timeline."""

    id: int = 0
    job_id: int
    at: float
    state: JobState
    message: str = ""
