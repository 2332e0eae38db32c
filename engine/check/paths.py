# ruff: noqa: PTH110, PTH111, PTH112, PTH113 - where Path raises these tell no
"""Paths that somebody else wrote: looked at without a fault, and translated out of containers."""

import os
from collections.abc import Sequence
from pathlib import Path


def exists(path: Path) -> bool:
    """Whether there is something; False too where the system refuses to look (no permission, a name too long)."""
    return os.path.exists(path)


def is_file(path: Path) -> bool:
    """Whether it is a file; False too where the system refuses to look."""
    return os.path.isfile(path)


def is_folder(path: Path) -> bool:
    """Whether it is a folder; False too where the system refuses to look."""
    return os.path.isdir(path)


def at_home(path: str) -> Path:
    """With `~` and `~user` in place of homes; as it is where there is no such user."""
    return Path(os.path.expanduser(path))


def host_path(reference: str, mounts: Sequence[tuple[str, str]]) -> str:
    """The host's path of one inside a container; unchanged where no mount covers it.

    Args:
        reference: A path inside.
        mounts: (path inside, path on the host); the longest one that fits holds.
    """
    for inside, host in sorted(mounts, key=lambda mount: -len(mount[0])):
        root = inside.rstrip("/")
        if reference == root or reference.startswith(f"{root}/"):
            return str(at_home(host)) + reference[len(root) :]
    return reference
