"""A worker that tells nothing: most likely there is no room where it should tell, and nobody else can say so."""

import shutil

from state.outside_text import plain_line
from state.records.regeneration import Regeneration, RegenerationProgress
from widgets import figures

SILENT_S = 10.0
"""It tells something each second."""
LITTLE_ROOM = 16 * 2**20


def silence_lines(run: Regeneration, progress: RegenerationProgress | None, now: float) -> list[str]:
    """What may keep the worker of a running run silent; empty where it has told something just now."""
    if run.state != "running" or progress is None or now - progress.taken_at < SILENT_S:
        return []
    since, folder = figures.duration(now - progress.taken_at), plain_line(run.run_folder, 200)
    try:
        free = shutil.disk_usage(run.run_folder).free
    except OSError as error:
        return [f"  silent    for {since}: {folder} cannot be reached: {error.strerror}"]
    if free < LITTLE_ROOM:
        room = figures.binary_bytes(free)
        return [f"  silent    for {since}: {room} free for {folder}; answers wait in memory until there is room"]
    worker = f"alula jobs show {run.job_id}" if run.job_id is not None else "alula jobs list"
    return [f"  silent    for {since}: see its worker, {worker}, and alula engine status"]
