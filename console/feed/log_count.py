"""Counts the lines of a log, a piece at a time, and remembers how many lie before each mebibyte."""

from console.feed.log_file import LogFile

STEP_BYTES = 1 << 20


class LineCount:
    """Goes on where it stopped; eight bytes for each mebibyte of log."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._before = [0]
        self._total = 0
        self._counted = 0

    def step(self) -> bool:
        """Count one more piece. `False` where nothing is left."""
        edge = len(self._before) * STEP_BYTES
        block = self._log.read(self._counted, min(edge, self._log.size) - self._counted)
        if not block:
            return False
        self._total += block.count(b"\n")
        self._counted += len(block)
        if self._counted == edge:
            self._before.append(self._total)
        return True

    def lines(self) -> int | None:
        """Of the whole log, the last one with or without its end; `None` until all is counted."""
        if self._counted < self._log.size:
            return None
        unfinished = self._counted > 0 and self._log.read(self._counted - 1, 1) != b"\n"
        return self._total + unfinished

    def number(self, place: int) -> int | None:
        """Of the line that begins there, from 1; `None` until it is counted."""
        if place > self._counted:
            return None
        index = min(place // STEP_BYTES, len(self._before) - 1)
        start = index * STEP_BYTES
        return self._before[index] + self._log.read(start, place - start).count(b"\n") + 1
