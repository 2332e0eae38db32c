"""What the watchers found since the last second: one record, which is also one line of a recording."""

import threading

import msgspec

from state.records.gpus import Gpu, GpuEvent, GpuHealth, GpuProcess, GpuSample, GpuStatus
from state.records.host import DiskSample, HostSample
from state.records.servers import Server, ServerEvent, ServerRank, ServerSample


class Readings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`None` means that nothing new was read; an empty tuple means that there is none."""

    gpu_status: GpuStatus | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_samples: tuple[GpuSample, ...] = ()
    gpu_health: tuple[GpuHealth, ...] = ()
    gpu_processes: tuple[GpuProcess, ...] | None = None
    gpu_events: tuple[GpuEvent, ...] = ()
    host: HostSample | None = None
    disks: tuple[DiskSample, ...] | None = None
    servers: tuple[Server, ...] = ()
    server_samples: tuple[ServerSample, ...] = ()
    server_ranks: tuple[ServerRank, ...] = ()
    server_events: tuple[ServerEvent, ...] = ()
    servers_removed: tuple[str, ...] = ()
    """URLs that are no longer watched."""


_REPLACED = ("gpu_status", "gpu_processes", "host", "disks")


def merge(older: Readings, newer: Readings) -> Readings:
    """Both, in order; where only the last state counts, the newer one if it has any."""
    merged = {}
    for name in Readings.__struct_fields__:
        old, new = getattr(older, name), getattr(newer, name)
        if name in _REPLACED:
            merged[name] = old if new is None else new
        else:
            merged[name] = old + new if old and new else new or old
    return Readings(**merged)


class Board:
    """Where watchers put readings, from any thread, and the writer takes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = Readings()

    def put(self, readings: Readings) -> None:
        """Add readings to those that wait."""
        with self._lock:
            self._waiting = merge(self._waiting, readings)

    def take(self) -> Readings:
        """All that was put since the last call."""
        with self._lock:
            taken, self._waiting = self._waiting, Readings()
        return taken
