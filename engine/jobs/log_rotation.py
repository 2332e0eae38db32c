"""Bounds a job's log. The child writes to the file itself, so nobody's death can block it or lose its output."""

import os
import time
from pathlib import Path

LARGEST_BYTES = 64 * 2**20
KEPT = 3
"""Older files `log.1.txt` (the newest) to `log.3.txt`: about 256 MiB for a job."""
COPY_BYTES = 2**20
SLOWEST_LOOK_S = 1.0


class LogKeeper:
    """Looks at the log as often as its growth demands."""

    def __init__(self, log: Path, largest_bytes: int = LARGEST_BYTES, kept: int = KEPT) -> None:
        self._log = log
        self._largest_bytes = largest_bytes
        self._kept = kept
        self._seen = (time.monotonic(), 0)
        self._due = 0.0

    def look(self) -> bool:
        """Rotate the log if it is large and it is time to look; returns whether it was rotated.

        Raises:
            OSError: It cannot be read or copied. If the disk is full the log is emptied all the same.
        """
        now = time.monotonic()
        if now < self._due or not self._log.exists():
            return False
        size = self._log.stat().st_size
        rotated = size >= self._largest_bytes and rotate(self._log, self._largest_bytes, self._kept)
        left = self._largest_bytes - (0 if rotated else size)
        grown_per_s = max(0, size - self._seen[1]) / max(now - self._seen[0], 1e-6)
        self._seen = (now, 0 if rotated else size)
        # Half the time in which it will be full at this rate.
        self._due = now + min(SLOWEST_LOOK_S, left / 2 / grown_per_s if grown_per_s else SLOWEST_LOOK_S)
        return rotated


def rotate(log: Path, largest_bytes: int, kept: int) -> bool:
    """Move the last `largest_bytes` of the log to `log.1.txt` and empty it.

    The file is copied and then emptied, as logrotate's `copytruncate` does: the child holds it open for appending and
    goes on at its new end. What a flood wrote beyond `largest_bytes` between two looks is dropped, and so is what is
    written between the end of the copy and the emptying, microseconds apart. A line in the log says so.
    """
    for number in range(kept - 1, 0, -1):
        if (older := _numbered(log, number)).exists():
            older.replace(_numbered(log, number + 1))
    with log.open("r+b") as source:
        try:
            dropped = _copy_end(source.fileno(), _numbered(log, 1), largest_bytes)
        finally:
            source.truncate(0)
    if dropped:
        with log.open("ab") as file:
            file.write(f"[alula: {dropped} bytes were dropped here: the log grew faster than it is kept]\n".encode())
    return True


def _copy_end(source: int, target: Path, largest_bytes: int) -> int:
    """Copy at most the last `largest_bytes`; returns how many bytes before them are left out."""
    size = os.fstat(source).st_size
    position = skipped = max(0, size - largest_bytes)
    with os.fdopen(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as copy:
        while position - skipped < largest_bytes and (block := os.pread(source, COPY_BYTES, position)):
            copy.write(block)
            position += len(block)
    return skipped + max(0, os.fstat(source).st_size - position)


def _numbered(log: Path, number: int) -> Path:
    return log.with_name(f"{log.stem}.{number}{log.suffix}")
