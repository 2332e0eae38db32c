"""Bounds a job's log. The child writes to the file itself, so nobody's death can block it or lose its output."""

import os
import shutil
from pathlib import Path

LARGEST_BYTES = 64 * 2**20
KEPT = 3
"""Older files `log.1.txt` (the newest) to `log.3.txt`: at most 256 MiB for a job, and what comes between two looks."""


def rotate(log: Path, largest_bytes: int = LARGEST_BYTES, kept: int = KEPT) -> bool:
    """Move what is in the log to `log.1.txt` if it is large; returns whether it did.

    The file is copied and then emptied, as logrotate's `copytruncate` does: the child holds it open for appending and
    goes on at its new end. Lines written between the last look and the emptying, microseconds apart, are lost.
    """
    try:
        if log.stat().st_size < largest_bytes:
            return False
    except OSError:
        return False
    for number in range(kept - 1, 0, -1):
        older = _numbered(log, number)
        if older.exists():
            older.replace(_numbered(log, number + 1))
    with log.open("r+b") as source, _numbered(log, 1).open("wb") as copy:
        os.fchmod(copy.fileno(), 0o600)
        shutil.copyfileobj(source, copy, 2**20)
        source.truncate(0)
    return True


def _numbered(log: Path, number: int) -> Path:
    return log.with_name(f"{log.stem}.{number}{log.suffix}")
