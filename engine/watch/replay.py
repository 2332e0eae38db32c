"""A recording in place of the real host: for demos, tests and support."""

import asyncio
import time
from pathlib import Path

import msgspec

from engine.watch.readings import Board, Readings
from engine.watch.recording import Line, RecordingError, read_lines, shifted
from state.errors import StateError

GAP_S = 1.0
"""Pause between the end of a recording and its next turn."""


async def replay(path: Path, board: Board, *, turns: int | None = None) -> None:
    """Put a recording on the board at the pace at which it was taken, again and again.

    Args:
        path: A file that `alula engine record` made.
        board: Takes the readings, their times moved to now.
        turns: How often to play it; `None` goes on until cancelled.

    Raises:
        RecordingError: The file is no recording, or holds nothing.
    """
    played = 0
    while turns is None or played < turns:
        begun, begun_at = time.monotonic(), time.time()
        origin: float | None = None
        for line in read_lines(path):
            if origin is None:
                origin = _origin(line)
            await asyncio.sleep(max(0.0, begun + line.at_s - time.monotonic()))
            board.put(_as_new(shifted(line.readings, begun_at - origin)))
        if origin is None:
            raise RecordingError(f"{path} holds no readings.", "Take the recording again.")
        played += 1
        await asyncio.sleep(GAP_S)


def _as_new(readings: Readings) -> Readings:
    """Events without the numbers that they had: each turn adds its own, beside those of the turn before."""
    return msgspec.structs.replace(
        readings,
        gpu_events=tuple(msgspec.structs.replace(event, id=0) for event in readings.gpu_events),
        server_events=tuple(msgspec.structs.replace(event, id=0) for event in readings.server_events),
    )


def check_recording(path: Path) -> float:
    """Read a recording through; its length in seconds.

    Raises:
        StateError: It cannot be played.
    """
    lines = list(read_lines(path))
    if not lines:
        raise StateError(f"{path} holds no readings.", "Take the recording again.")
    return lines[-1].at_s


def _origin(first: Line) -> float:
    """UTC seconds of the recording's beginning, from the first time in it."""
    readings = first.readings
    if readings.host is not None:
        return readings.host.taken_at - first.at_s
    samples = readings.gpu_samples or readings.server_samples
    return (samples[0].taken_at if samples else time.time()) - first.at_s
