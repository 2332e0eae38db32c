"""Versions of Python, SQLite and the packages that Alula needs, and limits of the system."""

import importlib.metadata
import platform
import resource
import sqlite3
from pathlib import Path

from packaging.requirements import Requirement

from engine.doctor.records import Examination
from state.version import VERSION

AREA = "Software"
FEW_FILES = 1024
FEW_WATCHES = 8192
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def examine_software() -> list[Examination]:
    """All of it."""
    versions = f"Alula {VERSION}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return [Examination(AREA, "versions", "good", versions), packages(), _open_files(), _watches()]


def packages(distribution: str = "alula") -> Examination:
    """Whether every package is there in a release that Alula was tested with."""
    try:
        wanted = [Requirement(text) for text in importlib.metadata.requires(distribution) or ()]
    except importlib.metadata.PackageNotFoundError:
        return Examination(AREA, "packages", "note", "Alula runs from its folder, not installed", "pip install -e .")
    needed = [requirement for requirement in wanted if requirement.marker is None]
    wrong = [problem for requirement in needed if (problem := _wrong(requirement))]
    if wrong:
        return Examination(AREA, "packages", "problem", "; ".join(wrong), "pip install --upgrade alula")
    return Examination(AREA, "packages", "good", f"{len(needed)}, all in tested releases")


def _wrong(requirement: Requirement) -> str:
    try:
        found = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(found, prereleases=True):
        return ""
    return f"{requirement.name} {found} is not {requirement.specifier}"


def _open_files() -> Examination:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = f"{soft:,} open files (up to {hard:,})"
    if soft < FEW_FILES:
        return Examination(AREA, "open files", "note", found, "ulimit -n 4096, for regenerations with many in flight")
    return Examination(AREA, "open files", "good", found)


def _watches() -> Examination:
    try:
        watches = int(_WATCHES.read_text())
    except (OSError, ValueError):
        return Examination(AREA, "file watches", "note", "unknown", "a check may not follow changes of files")
    if watches < FEW_WATCHES:
        return Examination(
            AREA, "file watches", "note", f"{watches:,}", f"sysctl fs.inotify.max_user_watches={FEW_WATCHES}"
        )
    return Examination(AREA, "file watches", "good", f"{watches:,}")
