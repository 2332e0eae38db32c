"""The lines of a log that a filter keeps: found from the newest to the oldest, and then as the log grows."""

from array import array
from bisect import bisect_left

from console.feed.log_file import LogFile
from console.feed.log_search import STEP_BYTES, Words, matches_in

MOST_KEPT = 2_000_000
"""Places, of eight bytes each. What is older is then left out."""


class LogFilter:
    """Kept places in order, as far as they have been looked for. A line without its end is not kept yet."""

    def __init__(self, log: LogFile, words: Words) -> None:
        self.words = words
        self._log = log
        self._low = self._high = log.start_of(log.size)
        self._older = array("Q")
        """Newest first."""
        self._newer = array("Q")

    def __len__(self) -> int:
        return len(self._older) + len(self._newer)

    @property
    def share(self) -> float:
        """How much of the log has been looked at."""
        return 1 - self._low / max(1, self._log.size)

    def step(self) -> bool:
        """Look at one more piece: of what was added, else of what is older. `False` where nothing is left."""
        end = self._log.start_of(self._log.size)
        if self._high < end:
            start = self._high
            # At least one line, however long it is.
            piece_end = max(self._log.start_of(start + STEP_BYTES), self._log.after(start))
            self._high = end if end - start <= STEP_BYTES else min(end, piece_end)
            if len(self) < 2 * MOST_KEPT:
                self._newer.extend(matches_in(self._log, self.words, start, self._high))
            return True
        if self._low <= 0 or len(self._older) >= MOST_KEPT:
            return False
        start = self._log.start_of(max(0, self._low - STEP_BYTES))
        self._older.extend(reversed(matches_in(self._log, self.words, start, self._low)))
        self._low = start
        return True

    def after(self, place: int) -> int:
        """The next kept place; the log's size where there is none yet."""
        index = self._before(place + 1)
        return self._at(index) if index < len(self) else self._log.size

    def before(self, place: int) -> int:
        """The kept place before; the place itself where there is none yet."""
        index = self._before(place)
        return self._at(index - 1) if index > 0 else place

    def _before(self, place: int) -> int:
        """How many kept places lie before."""
        later = bisect_left(self._older, True, key=lambda kept: kept < place)
        return len(self._older) - later + bisect_left(self._newer, place)

    def _at(self, index: int) -> int:
        older = len(self._older)
        return int(self._older[older - 1 - index] if index < older else self._newer[index - older])
