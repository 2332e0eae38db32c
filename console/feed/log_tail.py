"""Follows a job's log file from its end: a file of gigabytes opens at once, and memory stays bounded."""

import threading
from collections.abc import Callable
from pathlib import Path

FIRST_BYTES = 512 * 1024
LARGEST_PIECE = 256 * 1024
POLL_S = 0.2


class LogTail(threading.Thread):
    """Calls `tell(text)` with what is appended; `begin_anew()` when the file was rotated or replaced."""

    def __init__(self, path: Path, tell: Callable[[str], None], begin_anew: Callable[[], None]) -> None:
        super().__init__(name="log", daemon=True)
        self._path = path
        self._tell = tell
        self._begin_anew = begin_anew
        self._ended = threading.Event()

    def end(self) -> None:
        """Stop reading."""
        self._ended.set()

    def run(self) -> None:
        """Read until ended. A file that is not there yet is waited for."""
        position: int | None = None
        identity: tuple[int, int] | None = None
        while not self._ended.is_set():
            try:
                found = self._path.stat()
                if identity != (found.st_dev, found.st_ino) or (position is not None and found.st_size < position):
                    if identity is not None:
                        self._begin_anew()
                    identity, position = (found.st_dev, found.st_ino), max(0, found.st_size - FIRST_BYTES)
                position = self._read(position or 0, found.st_size)
            except OSError:
                pass
            self._ended.wait(POLL_S)

    def _read(self, position: int, size: int) -> int:
        if size - position > 4 * FIRST_BYTES:
            # Faster than anyone can read: show the end, and say that something was left out.
            self._tell(f"\n... {size - position - FIRST_BYTES:,} bytes left out ...\n")
            position = size - FIRST_BYTES
        with self._path.open("rb") as log:
            log.seek(position)
            while not self._ended.is_set() and (piece := log.read(LARGEST_PIECE)):
                position += len(piece)
                self._tell(piece.decode("utf-8", errors="replace"))
        return position
