"""What `alula status` prints: a line for each part of the host."""

import time
from collections.abc import Iterable

import msgspec

from state.outside_text import plain_line
from state.records.alerts import Alert
from state.records.gpus import Gpu, GpuSample, GpuStatus
from state.records.host import DiskSample, HostSample
from state.records.jobs import Job
from state.records.regeneration import Regeneration, RegenerationProgress
from state.records.servers import Server, ServerSample
from widgets import figures

STALE_S = 10.0
NO_DRAFT_ACCEPTED = 1.05
LONGEST = 200


class Status(msgspec.Struct, frozen=True):
    """The host at one moment."""

    engine_alive: bool
    host: HostSample | None
    disks: list[DiskSample]
    gpu_status: GpuStatus | None
    gpus: list[Gpu]
    gpu_samples: dict[str, GpuSample]
    servers: list[tuple[Server, ServerSample | None]]
    jobs: list[Job]
    runs: list[tuple[Regeneration, RegenerationProgress | None]]
    alerts: list[Alert]


def lines(status: Status) -> list[str]:
    """A line for each part, names at the left."""
    found = [
        ("engine", "running" if status.engine_alive else "not running; start it: alula engine start"),
        ("host", _host(status)),
        ("gpus", _gpus(status)),
        *(("server", _server(server, sample)) for server, sample in status.servers),
        ("jobs", _jobs(status.jobs)),
        *(("regen", _run(run, progress)) for run, progress in status.runs),
        *(("alert", f"{alert.severity}: {alert.title}, {alert.subject}; {alert.remedy}") for alert in status.alerts),
    ]
    if not status.servers:
        found.insert(3, ("server", "none found; add one: alula servers add http://HOST:PORT"))
    if not status.alerts:
        found.append(("alert", "none"))
    return [f"{name:<7} {plain_line(text, LONGEST)}" for name, text in found]


def one_line(status: Status) -> str:
    """The most telling figures, for a status bar."""
    parts = [] if status.engine_alive else ["engine down"]
    busy = _mean(sample.utilization_percent for sample in status.gpu_samples.values())
    if status.gpus:
        parts.append(f"{len(status.gpus)} GPU {figures.percent(busy)}")
    elif status.host is not None:
        parts.append(f"cpu {figures.percent(status.host.cpu_percent)}")
    parts += [f"accept {_accept(sample)}" for _, sample in status.servers if sample is not None and _accept(sample)]
    if status.jobs:
        parts.append(_counted(len(status.jobs), "job"))
    for run, progress in status.runs:
        share = figures.share(progress.done / run.total if progress and run.total else None)
        left = f" {figures.duration(progress.eta_s)} left" if progress and progress.eta_s is not None else ""
        parts.append(f"regen {share}{left if run.state == 'running' else ' paused'}")
    errors = sum(alert.severity == "error" for alert in status.alerts)
    if status.alerts:
        parts.append(f"! {_counted(errors, 'error')}" if errors else _counted(len(status.alerts), "alert"))
    return " | ".join(parts) or "idle"


def _host(status: Status) -> str:
    sample = status.host
    if sample is None:
        return "no reading yet"
    parts = [
        f"cpu {figures.percent(sample.cpu_percent)}",
        f"load {figures.fixed(sample.load_1m, 1)}/{sample.cores}",
        f"memory {figures.binary_bytes_of(sample.memory_used_bytes, sample.memory_total_bytes)}",
        *(f"disk {disk.mount} {figures.binary_bytes(disk.free_bytes)} free" for disk in status.disks),
    ]
    return figures.stale("  ".join(parts), time.time() - sample.taken_at, STALE_S)


def _gpus(status: Status) -> str:
    if not status.gpus:
        found = status.gpu_status
        return "not looked for yet" if found is None else f"{found.message} {found.remedy}".rstrip()
    samples = list(status.gpu_samples.values())
    used = _sum(sample.memory_used_bytes for sample in samples)
    total = _sum(gpu.memory_total_bytes for gpu in status.gpus)
    hottest = max((s.temperature_c for s in samples if s.temperature_c is not None), default=None)
    lost = sum(gpu.lost_at is not None for gpu in status.gpus)
    parts = [
        f"{len(status.gpus)}, busy {figures.percent(_mean(sample.utilization_percent for sample in samples))}",
        f"memory {figures.binary_bytes_of(used, total)}",
        f"power {figures.watts(_sum(sample.power_w for sample in samples))}",
        f"hottest {figures.celsius(hottest)}",
        *([f"! {lost} LOST"] if lost else []),
    ]
    newest = max((sample.taken_at for sample in samples), default=None)
    return figures.stale("  ".join(parts), None if newest is None else time.time() - newest, STALE_S)


def _server(server: Server, sample: ServerSample | None) -> str:
    text = f"{server.url}  {server.health}  {(server.model or figures.ABSENT).rstrip('/').rsplit('/', 1)[-1]}"
    if sample is None:
        return text
    accept = _accept(sample) or figures.ABSENT
    return f"{text}  accept length {accept}  {figures.rate(sample.tokens_per_s)}"


def _accept(sample: ServerSample) -> str:
    """The accept length, marked where no draft token is accepted."""
    value = sample.accept_length
    if value is None:
        return ""
    return f"! {value:.2f}" if value < NO_DRAFT_ACCEPTED else f"{value:.2f}"


def _jobs(found: list[Job]) -> str:
    if not found:
        return "none runs"
    names = ", ".join(f"{job.id} {job.name}" for job in found[:4])
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return f"{len(found)} open: {names}{more}"


def _run(run: Regeneration, progress: RegenerationProgress | None) -> str:
    if progress is None:
        return f"{run.name}  {run.state}"
    share = figures.share(progress.done / run.total if run.total else None, 1)
    text = f"{run.name}  {run.state}  {figures.count(progress.done)} of {figures.count(run.total)} ({share})"
    if progress.failed:
        text += f"  {figures.count(progress.failed)} failed"
    if run.state != "running":
        return f"{text}  go on: alula regen resume {run.name}"
    left = figures.eta(progress.eta_s, progress.eta_low_s, progress.eta_high_s)
    return figures.stale(f"{text}  left {left}", time.time() - progress.taken_at, STALE_S)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
