"""A job's log and its older pieces as one row of bytes that grows, and where its lines begin."""

import os
from dataclasses import dataclass
from pathlib import Path

CELL_BYTES = 64 * 1024
"""A line that fills such a cell whole is cut at its edges, so that an endless line is read in pieces."""
FIRST_LOOK_BYTES = 4096
OLDER = 3
"""Pieces `log.1.txt` (the newest) to `log.3.txt`, as `engine.jobs.log_rotation` keeps them."""


@dataclass
class _Piece:
    descriptor: int
    start: int
    size: int


class LogFile:
    """Opened at once whatever its size. For one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pieces: list[_Piece] = []
        self._seen: tuple[object, ...] = ()
        self._copied = False
        self.size = 0

    def close(self) -> None:
        """Give the descriptors back."""
        for piece in self._pieces:
            os.close(piece.descriptor)
        self._pieces = []

    def refresh(self) -> int | None:
        """Look whether it has grown. After a rotation: by how many bytes what was there has moved; else `None`.

        Raises:
            OSError: It cannot be read.
        """
        seen = (_identity(self._path), _identity(_older(self._path, 1)))
        size = os.fstat(self._pieces[-1].descriptor).st_size if self._pieces else 0
        if self._pieces and seen[0] == self._seen[0] and size >= self._pieces[-1].size and not self._copied:
            # A copy of it appears before it is emptied: the next look will find it emptied, however it has grown.
            self._copied = seen != self._seen
            self._pieces[-1].size = size
            self.size = self._pieces[-1].start + size
            return None
        if not self._path.exists():
            return None
        old_size, first = self.size, not self._pieces
        self._open()
        self._seen, self._copied = seen, False
        return None if first else self._pieces[-1].start - old_size

    def read(self, start: int, count: int) -> bytes:
        """Bytes from a place on: fewer at the end, or where a piece is gone."""
        found = []
        for piece in self._pieces:
            low, high = max(start, piece.start), min(start + count, piece.start + piece.size)
            while low < high and (part := os.pread(piece.descriptor, high - low, low - piece.start)):
                found.append(part)
                low += len(part)
        return found[0] if len(found) == 1 else b"".join(found)

    def line_at(self, place: int) -> bytes:
        """The line that begins there, without its end."""
        return self.read(place, self.after(place) - place).rstrip(b"\n")

    def after(self, place: int) -> int:
        """Where the next line begins; the log's size after its last line."""
        while place < self.size:
            edge = min(self.size, (place // CELL_BYTES + 1) * CELL_BYTES)
            found = self._find(b"\n", place, edge)
            if found >= 0:
                return found + 1
            if edge == self.size or edge - place == CELL_BYTES:
                return edge
            if b"\n" not in self.read(edge - CELL_BYTES, place - edge + CELL_BYTES):
                return edge
            place = edge
        return self.size

    def before(self, place: int) -> int:
        """Where the line before the one that begins there begins; 0 before the first."""
        if place <= 0:
            return 0
        edge = (place - 1) // CELL_BYTES * CELL_BYTES
        found = self._find_last(b"\n", edge, place - 1)
        if found >= 0:
            return found + 1
        if edge == 0:
            return 0
        found = self._find_last(b"\n", edge - CELL_BYTES, edge)
        return found + 1 if found >= 0 else edge

    def start_of(self, place: int) -> int:
        """Where the line that holds this byte begins."""
        return self.before(min(place, self.size) + 1) if place > 0 else 0

    def _find(self, mark: bytes, start: int, end: int) -> int:
        found = self.read(start, min(FIRST_LOOK_BYTES, end - start)).find(mark)
        if found < 0 and end - start > FIRST_LOOK_BYTES:
            found = self.read(start, end - start).find(mark)
        return start + found if found >= 0 else -1

    def _find_last(self, mark: bytes, start: int, end: int) -> int:
        low = max(start, end - FIRST_LOOK_BYTES)
        found = self.read(low, end - low).rfind(mark)
        if found < 0 and low > start:
            low = start
            found = self.read(low, end - low).rfind(mark)
        return low + found if found >= 0 else -1

    def _open(self) -> None:
        self.close()
        start = 0
        for path in (*(_older(self._path, number) for number in range(OLDER, 0, -1)), self._path):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            size = os.fstat(descriptor).st_size
            self._pieces.append(_Piece(descriptor, start, size))
            start += size
        self.size = start


def _older(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
