"""What the queue needs to know of the host before it lets jobs start: read from the database, and from the ports."""

import sqlite3
from collections.abc import Iterable, Sequence

import psutil

import state.gpus
from engine.jobs.admission import Device, Surroundings
from engine.jobs.ports import is_free
from state.job_queue import last_tries, read_queue
from state.outside_text import plain_line
from state.records.gpus import GpuProcess
from state.records.jobs import Job

FRESH_S = 30.0
"""GPUs that were looked at longer ago are not known: the watcher does not run, or has just begun."""
NO_GPU_FRESH_S = 120.0
"""The same where there are none: that is looked at less often."""
CONTEXT_BYTES = 200 << 20
"""A process with a CUDA context holds more than this. What holds less, such as a display server, is not in the way."""


def read_surroundings(database: sqlite3.Connection, jobs: Sequence[Job], now: float) -> Surroundings:
    """What decides about the queued ones among the open jobs."""
    queued = [job for job in jobs if job.state == "queued"]
    others = {other for job in queued for other in (*job.schedule.after, *job.schedule.after_ok)}
    ports = {port for job in queued for port in job.schedule.ports}
    devices, why_none = None, ""
    if any(job.schedule.gpus or job.schedule.gpu_choice for job in queued):
        devices, why_none = _devices(database, jobs, now)
    return Surroundings(
        now=now,
        paused=read_queue(database).paused_at is not None,
        devices=devices,
        no_devices=why_none,
        states=last_tries(database, others),
        busy_ports=frozenset(port for port in ports if not is_free(port)),
        memory_bytes=psutil.virtual_memory().total if any(job.schedule.memory_bytes for job in queued) else None,
    )


def _devices(database: sqlite3.Connection, jobs: Sequence[Job], now: float) -> tuple[tuple[Device, ...] | None, str]:
    status = state.gpus.read_status(database)
    if status is None:
        return None, ""
    if status.availability != "available":
        fresh = now - status.taken_at < NO_GPU_FRESH_S
        return (() if fresh else None), f"no GPU can be used here: {status.message}"
    looked_at = max((sample.taken_at for sample in state.gpus.latest_samples(database).values()), default=0.0)
    if now - looked_at > FRESH_S:
        return None, ""
    processes = state.gpus.read_processes(database)
    devices = [
        Device(index=gpu.index, uuid=gpu.uuid, taken_by=_stranger(gpu.index, gpu.uuid, processes, jobs))
        for gpu in state.gpus.read_gpus(database)
        if gpu.parent_uuid is None and gpu.lost_at is None and not gpu.mig_enabled
    ]
    return tuple(devices), "no GPU is here that a job can have whole"


def _stranger(index: int, uuid: str, processes: Iterable[GpuProcess], jobs: Sequence[Job]) -> str | None:
    """Who uses a GPU that no open job was given."""
    given = {job.id for job in jobs if index in job.gpus}
    for process in processes:
        small = process.memory_bytes is not None and process.memory_bytes < CONTEXT_BYTES
        if process.uuid != uuid or small or process.job_id in given:
            continue
        if process.job_id is not None:
            return f"job {process.job_id}, which did not ask for it"
        command = plain_line(process.command or "", 40) or "a process"
        return f"{command} (pid {process.pid}{', ' + plain_line(process.user, 20) if process.user else ''})"
    return None
