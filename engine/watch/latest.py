"""The present state of everything that is watched, for the alert rules."""

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from engine.check.records import Finding
from engine.watch.accept_trend import Trend, follow
from engine.watch.readings import Readings
from state.records.gpus import Gpu, GpuEvent, GpuHealth, GpuSample
from state.records.host import DiskSample
from state.records.jobs import Job
from state.records.regeneration import Regeneration, RegenerationProgress
from state.records.servers import Server, ServerEvent, ServerSample

EVENTS_S = 3600.0
"""An event counts as present for an hour."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one moment: the only input of every alert rule."""

    now: float
    gpus: Mapping[str, Gpu] = {}
    gpu_samples: Mapping[str, GpuSample] = {}
    gpu_health: Mapping[str, GpuHealth] = {}
    gpu_events: Sequence[GpuEvent] = ()
    servers: Mapping[str, Server] = {}
    server_samples: Mapping[str, ServerSample] = {}
    server_events: Sequence[ServerEvent] = ()
    accept_trends: Mapping[str, Trend] = {}
    findings: Mapping[str, Sequence[Finding]] = {}
    """What the checker says of each server, by URL."""
    disks: Sequence[DiskSample] = ()
    jobs: Sequence[Job] = ()
    """Those that have not ended."""
    regenerations: Sequence[tuple[Regeneration, Sequence[RegenerationProgress]]] = ()
    """Those that run, each with its progress of the last minutes, in time order."""
    disk_full_hours: float = 12.0


class Latest:
    """Gathers readings. Used from the event loop alone."""

    def __init__(self) -> None:
        self.gpus: dict[str, Gpu] = {}
        self.gpu_samples: dict[str, GpuSample] = {}
        self.gpu_health: dict[str, GpuHealth] = {}
        self.gpu_events: deque[GpuEvent] = deque(maxlen=1000)
        self.servers: dict[str, Server] = {}
        self.server_samples: dict[str, ServerSample] = {}
        self.server_events: deque[ServerEvent] = deque(maxlen=1000)
        self.accept_trends: dict[str, Trend] = {}
        self.disks: tuple[DiskSample, ...] = ()

    def add(self, readings: Readings) -> None:
        """Take what one second brought."""
        self.gpus |= {gpu.uuid: gpu for gpu in readings.gpus}
        self.gpu_samples |= {sample.uuid: sample for sample in readings.gpu_samples}
        self.gpu_health |= {health.uuid: health for health in readings.gpu_health}
        self.gpu_events += readings.gpu_events
        self.servers |= {server.url: server for server in readings.servers}
        self.server_events += readings.server_events
        for sample in readings.server_samples:
            self._add_server_sample(sample)
        for url in readings.servers_removed:
            for table in (self.servers, self.server_samples, self.accept_trends):
                table.pop(url, None)
        if readings.disks is not None:
            self.disks = readings.disks

    def snapshot(self, now: float, **more: object) -> Snapshot:
        """Everything now, with what only the database or the checker knows."""
        present = {
            "gpus": self.gpus,
            "gpu_samples": self.gpu_samples,
            "gpu_health": self.gpu_health,
            "gpu_events": [event for event in self.gpu_events if now - event.at < EVENTS_S],
            "servers": self.servers,
            "server_samples": self.server_samples,
            "server_events": [event for event in self.server_events if now - event.at < EVENTS_S],
            "accept_trends": self.accept_trends,
            "disks": self.disks,
        }
        return msgspec.structs.replace(Snapshot(now=now), **present, **more)

    def _add_server_sample(self, sample: ServerSample) -> None:
        before = self.server_samples.get(sample.url)
        self.server_samples[sample.url] = sample
        if before is not None and sample.accept_length is not None and sample.running_requests:
            trend = self.accept_trends.get(sample.url, Trend())
            elapsed = sample.taken_at - before.taken_at
            self.accept_trends[sample.url] = follow(trend, sample.accept_length, elapsed)
