"""Power and memory of the GPUs that a server ran on, from what the watcher has stored."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing

import msgspec

from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.gpus import gpu_history, read_gpus, read_processes
from state.records.gpus import Gpu

FEWEST_SAMPLES = 2


class Draw(msgspec.Struct, frozen=True):
    """What the GPUs took. `None` where it was not watched, or too short to tell."""

    power_w: float | None = None
    memory_bytes: int | None = None
    """The most that was in use."""


def drawn(began_at: float, ended_at: float, indices: Sequence[int], job_id: int | None) -> Draw:
    """Mean power of the GPUs' sum, and the most memory, between two UTC times."""
    try:
        with closing(open_database(state_folder().database_path)) as database:
            chosen = _chosen(database, indices, job_id)
            found = [gpu_history(database, gpu.uuid, began_at, ended_at, time.time()) for gpu in chosen]
    except (sqlite3.Error, StateError, OSError):
        return Draw()
    if not found or any(len(samples) < FEWEST_SAMPLES for samples in found):
        return Draw()
    power = [[one.power_w for one in samples if one.power_w is not None] for samples in found]
    memory = [[one.memory_used_bytes for one in samples if one.memory_used_bytes is not None] for samples in found]
    return Draw(
        sum(sum(values) / len(values) for values in power) if all(power) else None,
        sum(max(values) for values in memory) if all(memory) else None,
    )


def _chosen(database: sqlite3.Connection, indices: Sequence[int], job_id: int | None) -> list[Gpu]:
    """The GPUs that were named, else those of the server's job, else the only one there is."""
    gpus = [gpu for gpu in read_gpus(database) if gpu.lost_at is None]
    if indices:
        return [gpu for gpu in gpus if gpu.index in indices and gpu.parent_uuid is None]
    used = {process.uuid for process in read_processes(database) if process.job_id == job_id and job_id is not None}
    return [gpu for gpu in gpus if gpu.uuid in used] or (gpus if len(gpus) == 1 else [])
