"""Makes a recording from the state database while the engine runs. It reads; nothing is watched twice."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import state.gpus
import state.host
import state.servers
from engine.watch.readings import Readings
from engine.watch.recording import Line, open_for_writing, write_line
from engine.watch.scrub import Scrubber

STEP_S = 1.0


def record(
    database: sqlite3.Connection, path: Path, seconds: float, progress: Callable[[float], None] = lambda _s: None
) -> int:
    """Write a scrubbed recording; gives the number of lines.

    Args:
        database: The state of the engine that watches.
        path: The file to write; gzipped if it ends in `.gz`.
        seconds: How long.
        progress: Called with the seconds that are done.
    """
    tail, scrubber, begun, lines = Tail(database), Scrubber(), time.monotonic(), 0
    with open_for_writing(path) as file:
        while (elapsed := time.monotonic() - begun) < seconds:
            readings = tail.read()
            if readings != Readings():
                write_line(file, Line(round(elapsed, 3), scrubber.readings(readings)))
                lines += 1
            progress(elapsed)
            time.sleep(STEP_S)
    return lines


class Tail:
    """Reads what is new in the database since the last look; the first look takes the present state whole."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._before = Readings()

    def read(self) -> Readings:
        """What is new."""
        now, before = self._present(), self._before
        self._before = now
        fresh: dict[str, Any] = {}
        for name in Readings.__struct_fields__:
            new, old = getattr(now, name), getattr(before, name)
            if isinstance(new, tuple) and name not in ("gpu_processes", "disks"):
                fresh[name] = tuple(item for item in new if item not in old)
            else:
                fresh[name] = None if new == old else new
        return Readings(**fresh)

    def _present(self) -> Readings:
        database = self._database
        return Readings(
            gpu_status=state.gpus.read_status(database),
            gpus=tuple(state.gpus.read_gpus(database)),
            gpu_samples=tuple(state.gpus.latest_samples(database).values()),
            gpu_health=tuple(state.gpus.read_health(database).values()),
            gpu_processes=tuple(state.gpus.read_processes(database)),
            gpu_events=tuple(reversed(state.gpus.read_events(database))),
            host=state.host.latest_host_sample(database),
            disks=tuple(state.host.read_disks(database)),
            servers=tuple(state.servers.read_servers(database)),
            server_samples=tuple(state.servers.latest_server_samples(database).values()),
            server_ranks=tuple(state.servers.read_ranks(database)),
            server_events=tuple(reversed(state.servers.read_server_events(database))),
        )
