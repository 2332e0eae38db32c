"""Jobs: anything that runs in the background and must outlive the screen."""

from typing import Any, Literal

import msgspec

JobState = Literal["queued", "starting", "running", "stopping", "done", "failed", "stopped", "lost"]

ENDED: frozenset[JobState] = frozenset({"done", "failed", "stopped", "lost"})
"""States that a job never leaves."""


BackendName = Literal["local", "slurm", "ray"]

RestartPolicy = Literal["never", "on-failure", "always"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When and where a job may run, and what follows its end."""

    priority: int = 0
    """Higher ones start first."""
    after: tuple[int, ...] = ()
    """Jobs that must have ended."""
    after_ok: tuple[int, ...] = ()
    """Jobs that must have ended well."""
    gpus: int = 0
    """How many GPUs it needs."""
    gpu_choice: tuple[int, ...] = ()
    """Exactly these, by index; `gpus` is then not looked at."""
    memory_bytes: int = 0
    """Of the host, kept free for it."""
    ports: tuple[int, ...] = ()
    """TCP ports that it will listen on."""
    time_limit_s: float | None = None
    retries: int = 0
    """How often it is tried again after an end that `retry_exit_codes` or `retry_log` calls passing."""
    retry_wait_s: float = 30.0
    """Before the first new try; doubled with each one."""
    retry_exit_codes: tuple[int, ...] = ()
    """Empty, with no `retry_log` either: any failure."""
    retry_log: tuple[str, ...] = ()
    """Regular expressions; one of them is found in the last lines of the log."""
    restart: RestartPolicy = "never"
    """For servers: without a count, until it dies five times in a row soon after its start."""
    ready_url: str | None = None
    """Answers 200 once it is ready to work."""
    ready_log: str | None = None
    """A regular expression; a line of the log matches once it is ready."""
    ready_within_s: float = 1800.0
    secrets: tuple[str, ...] = ()
    """Names of environment variables whose values are kept outside the database."""


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
    recipe: str | None = None
    parameters: dict[str, Any] = {}
    """Of the recipe, as they were given."""
    schedule: Schedule = Schedule()
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that it was given."""
    not_before: float | None = None
    attempt: int = 0
    """How many tries in a row came before it."""
    ready_at: float | None = None
    follow_up: bool = False
    """Its end has still to be looked at: it may have to be tried again."""
    stop_reason: str | None = None
    """Why it was stopped, where it was not an operator's wish."""
    backend: BackendName = "local"
    """Who runs it: a runner on this host, or a cluster's own engine."""
    backend_address: str = ""
    """Which cluster, as `--on` names it: `slurm`, `slurm://gpu`, `ray://head`. Empty for `local`."""
    backend_id: str | None = None
    """Its id there, once it is known."""


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A step in a job's life, for its timeline."""

    id: int = 0
    job_id: int
    at: float
    state: JobState
    message: str = ""
