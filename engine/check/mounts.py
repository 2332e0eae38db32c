"""Paths inside a container as the host knows them."""

from collections.abc import Sequence
from pathlib import Path


def host_path(reference: str, mounts: Sequence[tuple[str, str]]) -> str:
    """The host's path of one inside a container; unchanged where no mount covers it.

    Args:
        reference: A path inside.
        mounts: (path inside, path on the host); the longest one that fits holds.
    """
    for inside, host in sorted(mounts, key=lambda mount: -len(mount[0])):
        root = inside.rstrip("/")
        if reference == root or reference.startswith(f"{root}/"):
            return str(Path(host).expanduser()) + reference[len(root) :]
    return reference
