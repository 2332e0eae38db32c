"""Where a demonstration keeps its state: a folder of its own, or the one of a demonstration that was killed."""

import os
import stat
import tempfile
from pathlib import Path

import msgspec

from console.demo.fault import Fault
from engine.lock import take_lock

PREFIX = "alula-demo-"
LOCK, SEEN = "demo.lock", "fault.json"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A state folder, held for as long as this process lives."""

    folder: Path
    lock: int | None
    fault: Fault | None = None
    """What a killed demonstration had seen before its campaign began."""


def take_place() -> Place:
    """The newest folder of this account whose demonstration was killed in its campaign; else a new one."""
    found = sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"), key=_changed_at, reverse=True)
    for folder in found:
        if _is_own(folder) and (folder / SEEN).is_file() and (lock := take_lock(folder / LOCK)) is not None:
            if (fault := _seen(folder)) is not None:
                return Place(folder=folder, lock=lock, fault=fault)
            os.close(lock)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    return Place(folder=folder, lock=take_lock(folder / LOCK))


def remember(folder: Path, fault: Fault) -> None:
    """From now on a killed demonstration can be gone on with."""
    part = folder / f".{SEEN}"
    part.write_bytes(msgspec.json.encode(fault))
    part.replace(folder / SEEN)


def forget(folder: Path) -> None:
    """It has ended: a folder that is kept is nobody's to go on with."""
    (folder / SEEN).unlink(missing_ok=True)


def _is_own(folder: Path) -> bool:
    """Others may write into the folder of temporary files."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _changed_at(folder: Path) -> float:
    try:
        return folder.lstat().st_mtime
    except OSError:
        return 0.0


def _seen(folder: Path) -> Fault | None:
    try:
        return msgspec.json.decode((folder / SEEN).read_bytes(), type=Fault)
    except (OSError, msgspec.DecodeError):
        return None
