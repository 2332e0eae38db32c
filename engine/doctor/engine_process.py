"""The engine: whether it runs, gives signs, and is of this release."""

import time
from contextlib import closing

from engine.doctor.records import Examination
from engine.lock import is_locked
from engine.systemd import unit_path
from state.database import open_database
from state.engine import STALE_HEARTBEAT_S, read_engine, read_parts
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.outside_text import plain_line
from state.records.engine import Engine, EnginePart
from state.version import VERSION

AREA = "Engine"


def examine_engine() -> list[Examination]:
    """Process, parts and unit. Where the state cannot be used, that is told elsewhere and nothing here."""
    try:
        folder = state_folder()
        with closing(open_database(folder.database_path)) as database:
            engine, parts = read_engine(database), read_parts(database)
    except StateError:
        return []
    return [judge_engine(folder, engine, is_locked(folder.engine_lock_path), time.time()), *failing(parts), _unit()]


def judge_engine(folder: StateFolder, engine: Engine | None, running: bool, now: float) -> Examination:
    """What the engine's own row says, against what the lock says."""
    if not running or engine is None:
        return Examination(AREA, "process", "note", "none runs; jobs and watching wait", "alula engine start")
    silent_s = now - engine.heartbeat_at
    if silent_s > STALE_HEARTBEAT_S:
        return Examination(AREA, "process", "problem", f"pid {engine.pid} has given no sign for {silent_s:.0f} s",
                           f"look into {folder.engine_log_path}; kill -9 {engine.pid} loses no job")  # fmt: skip
    if engine.version != VERSION:
        return Examination(AREA, "process", "problem", f"it runs release {engine.version}, this is {VERSION}",
                           "alula engine stop; jobs go on, the next command starts the new one")  # fmt: skip
    return Examination(AREA, "process", "good", f"pid {engine.pid}")


def failing(parts: list[EnginePart]) -> list[Examination]:
    """Parts that do not work now."""
    return [
        Examination(
            AREA, part.name, "problem", plain_line(part.last_error or "it fails", 200), "it is tried again by itself"
        )
        for part in parts
        if part.state == "backing_off"
    ]


def _unit() -> Examination:
    if unit_path().exists():
        return Examination(AREA, "after a reboot", "good", f"systemd starts it ({unit_path()})")
    return Examination(AREA, "after a reboot", "note", "it starts with the next alula command", "alula engine install")
