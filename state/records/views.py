"""Records that are drawn together: what one row or pane of a screen needs to know."""

import msgspec

from state.records.engine import Engine, EnginePart
from state.records.gpus import Gpu, GpuProcess, GpuSample, GpuStatus
from state.records.host import DiskSample, HostSample
from state.records.regeneration import Regeneration, RegenerationDetail, RegenerationProgress
from state.records.servers import Server, ServerSample


class EngineView(msgspec.Struct, frozen=True):
    """Whether the engine lives, and how its parts are."""

    engine: Engine | None
    alive: bool
    parts: tuple[EnginePart, ...] = ()
    readable: bool = True
    """Whether the database could be read at all when this was told."""


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """The queue of jobs as a whole."""

    running: int
    """Jobs that have begun and not ended."""
    waiting: int
    paused_at: float | None = None
    paused_by: str | None = None


class HostView(msgspec.Struct, frozen=True):
    """The host now."""

    sample: HostSample | None
    disks: tuple[DiskSample, ...] = ()


class GpuRow(msgspec.Struct, frozen=True):
    """A GPU with its newest sample and who is on it."""

    gpu: Gpu
    sample: GpuSample | None
    processes: tuple[GpuProcess, ...] = ()
    work: str = ""
    """What it is busy with, in words: a job's name, or the largest process."""
    slowed: str = ""
    """What slows it down beyond what is normal, in words; empty where nothing does."""
    trend: tuple[tuple[float, float | None], ...] = ()
    """Utilisation in percent over the last minutes, in steps of five seconds, oldest first."""


class GpusView(msgspec.Struct, frozen=True):
    """All GPUs, or why there are none."""

    status: GpuStatus | None
    rows: tuple[GpuRow, ...] = ()


class ServerRow(msgspec.Struct, frozen=True):
    """A server with its newest sample."""

    server: Server
    sample: ServerSample | None
    trend: tuple[tuple[float, float | None], ...] = ()
    """Tokens a second over the last minutes, in steps of five seconds, oldest first."""


class RegenerationRow(msgspec.Struct, frozen=True):
    """A regeneration with its newest progress."""

    run: Regeneration
    progress: RegenerationProgress | None
    speeds: tuple[tuple[float, float | None], ...] = ()
    """Times and tokens a second of the last minutes, oldest first."""
    detail: RegenerationDetail | None = None
