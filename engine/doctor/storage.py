"""The state folder: where it lies, whether it can be written, how much room it has, whether the database is sound."""

import os
import stat
from contextlib import closing
from pathlib import Path

from engine.doctor.records import Examination
from state.database import open_database
from state.errors import StateError
from state.file_systems import file_system_type
from state.folder import StateFolder, state_folder
from state.settings import load_settings, settings_path

AREA = "State"
GIB = 1 << 30
LOW_SPACE_BYTES = 2 * GIB
LOW_INODES = 10_000


def examine_storage() -> list[Examination]:
    """Folder, disk, database and settings."""
    try:
        folder = state_folder()
    except StateError as error:
        return [Examination(AREA, "folder", "problem", str(error), error.remedy), _settings()]
    return [_folder(folder), _rights(folder.path), _room(folder.path), _database(folder), _settings()]


def room_of(path: Path, free_bytes: int, free_inodes: int | None) -> Examination:
    """Whether a disk has room for a night's work."""
    inodes = "" if free_inodes is None else f", {free_inodes:,} inodes"
    found = f"{free_bytes / GIB:.1f} GiB free{inodes} at {path}"
    if free_bytes < LOW_SPACE_BYTES:
        return Examination(AREA, "room", "problem", found, "free space, or set ALULA_HOME to a folder on another disk")
    if free_inodes is not None and free_inodes < LOW_INODES:
        return Examination(AREA, "room", "problem", found, "remove small files on that disk: it can hold few more")
    return Examination(AREA, "room", "good", found)


def _folder(folder: StateFolder) -> Examination:
    kind = file_system_type(folder.path) or "of unknown kind"
    if folder.notice:
        return Examination(AREA, "folder", "note", folder.notice, "set ALULA_HOME to a folder on a local disk")
    return Examination(AREA, "folder", "good", f"{folder.path}, file system {kind}")


def _rights(path: Path) -> Examination:
    readable = [
        file for file in (path, *path.glob("*")) if not file.is_symlink() and stat.S_IMODE(file.stat().st_mode) & 0o007
    ]
    if path.stat().st_uid != os.geteuid():
        return Examination(AREA, "rights", "note", f"{path} belongs to another user", "run as that user")
    if readable and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Examination(AREA, "rights", "problem", f"others can read {readable[0]}", f"chmod -R go= {path}")
    return Examination(AREA, "rights", "good", "only its owner can enter it")


def _room(path: Path) -> Examination:
    found = os.statvfs(path)
    return room_of(path, found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None)


def _database(folder: StateFolder) -> Examination:
    path = folder.database_path
    try:
        with closing(open_database(path)) as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except StateError as error:
        return Examination(AREA, "database", "problem", str(error), error.remedy)
    if answer != "ok":
        return Examination(AREA, "database", "problem", f"{path} is damaged: {answer}", "alula db check")
    return Examination(AREA, "database", "good", f"sound, {path.stat().st_size / (1 << 20):.1f} MiB")


def _settings() -> Examination:
    path = settings_path()
    try:
        load_settings()
    except StateError as error:
        return Examination(AREA, "settings", "problem", str(error), error.remedy)
    return Examination(AREA, "settings", "good", f"{path}" if path.exists() else f"none ({path}); defaults hold")
