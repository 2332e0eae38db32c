"""`alula gpus`: GPUs, one row each, and the processes on them."""

import sqlite3
import sys
import time

import click

from console.command_line.live_view import View, show, table
from engine.watch.throttle import throttle_words
from state.gpus import latest_samples, read_gpus, read_health, read_processes, read_status
from state.records.gpus import Gpu, GpuProcess, GpuSample
from widgets import figures

FRESH_S = 10.0
_HEADINGS = ("GPU", "NAME", "UTIL", "MEMORY", "POWER", "CORE", "HBM", "SM CLOCK", "STATE")
_PROCESS_HEADINGS = ("GPU", "PID", "USER", "MEMORY", "JOB", "COMMAND")
_COMMAND_CELLS = 60


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print records as JSON; with --watch one line each second.")
@click.option("--watch", is_flag=True, help="Print anew each second until Ctrl-C.")
def gpus(as_json: bool, watch: bool) -> None:
    """GPUs, one row each, and the processes on them.

    Exit code 0, also where there is no GPU (the reason is printed); 2 where the state or the engine cannot be used.

    Example: alula gpus --json | jq '.samples[].utilization_percent'
    """
    sys.exit(show(look, as_json=as_json, watch=watch))


def look(database: sqlite3.Connection) -> View:
    """The GPUs as the database has them."""
    status, known, samples = read_status(database), read_gpus(database), latest_samples(database)
    processes, now = read_processes(database), time.time()
    value = {
        "status": status,
        "gpus": known,
        "samples": list(samples.values()),
        "health": list(read_health(database).values()),
        "processes": processes,
    }
    if status is None:
        return View(["The engine has not looked for GPUs yet."], value, ready=False)
    waits = status.availability == "available" and not any(s.taken_at > now - FRESH_S for s in samples.values())
    head = [status.message, *([status.remedy] if status.remedy else [])]
    rows = [_row(gpu, samples.get(gpu.uuid), now) for gpu in known]
    lines = head + (["", *table(_HEADINGS, rows, right=range(2, 8))] if rows else [])
    return View(lines + _process_lines(known, processes), value, ready=not waits)


def _row(gpu: Gpu, sample: GpuSample | None, now: float) -> tuple[str, ...]:
    label = str(gpu.index) if gpu.parent_uuid is None else f"  {gpu.index}"
    sample = sample or GpuSample(uuid=gpu.uuid, taken_at=gpu.seen_at)
    used = figures.binary_bytes_of(sample.memory_used_bytes, gpu.memory_total_bytes)
    power = f"{figures.watts(sample.power_w)} / {figures.watts(sample.power_limit_w)}"
    return (
        label,
        gpu.shown_name,
        figures.percent(sample.utilization_percent),
        used,
        power if sample.power_w is not None else figures.watts(None),
        figures.celsius(sample.temperature_c),
        figures.celsius(sample.memory_temperature_c),
        figures.megahertz(sample.sm_clock_mhz),
        _state(gpu, sample, now, throttle_words(sample.throttle_reasons)),
    )


def _state(gpu: Gpu, sample: GpuSample, now: float, throttle: str | None) -> str:
    if gpu.lost_at is not None:
        return f"LOST {figures.age(now - gpu.lost_at)}"
    if now - sample.taken_at > FRESH_S:
        return f"no sample since {figures.duration(now - sample.taken_at)}"
    return throttle or ""


def _process_lines(known: list[Gpu], processes: list[GpuProcess]) -> list[str]:
    if not processes:
        return []
    index = {gpu.uuid: str(gpu.index) for gpu in known}
    rows = [
        (
            index.get(process.uuid, "?"),
            str(process.pid),
            process.user or "–",
            figures.binary_bytes(process.memory_bytes),
            "–" if process.job_id is None else str(process.job_id),
            (process.command or "host process (another PID namespace)")[:_COMMAND_CELLS],
        )
        for process in processes
    ]
    return ["", *table(_PROCESS_HEADINGS, rows, right=(1, 3))]
