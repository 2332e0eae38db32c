"""The engine process and its supervised parts."""

from typing import Literal

import msgspec

PartState = Literal["starting", "running", "backing_off", "stopped"]


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """The one engine of a state folder. It runs if `heartbeat_at` is fresh and the process identity still holds."""

    pid: int
    pid_started_at: float
    boot_id: str
    version: str
    started_at: float
    heartbeat_at: float
    stopped_at: float | None = None


class EnginePart(msgspec.Struct, frozen=True, kw_only=True):
    """A supervised task of the engine: a watcher, the scheduler, the command reader."""

    name: str
    state: PartState
    since: float
    restarts: int = 0
    last_error: str | None = None
    retry_at: float | None = None
