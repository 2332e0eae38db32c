"""Finds lines of a log by the words that they show: forwards and backwards, a step at a time, whatever its size."""

from collections.abc import Iterator

import msgspec

from console.feed.log_file import CELL_BYTES, LogFile
from widgets.log_text import ERROR_WORDS, plain_log_line

STEP_BYTES = 256 * 1024
"""Of one step: it keeps the interpreter from other threads for about a millisecond."""


class Words(msgspec.Struct, frozen=True):
    """What a line has to show one of, in lower case; with `inverted`, none of."""

    words: tuple[str, ...]
    inverted: bool = False

    def match(self, raw: bytes) -> bool:
        """Whether a line shows it: colours and the older states of progress bars do not count."""
        shown = plain_log_line(raw.decode(errors="replace")).lower()
        return any(word in shown for word in self.words) != self.inverted

    def may_be_in(self, lowered: bytes) -> bool:
        """Quick: `False` only where no line of these bytes matches."""
        if self.inverted or b"\x1b" in lowered or not all(word.isascii() for word in self.words):
            return True
        return any(word.encode() in lowered for word in self.words)


ERRORS = Words(ERROR_WORDS)


def words_of(text: str, *, may_invert: bool = False) -> Words | None:
    """From what was typed; `None` where that is empty."""
    inverted = may_invert and text.startswith("!") and len(text) > 1
    text = text.removeprefix("!") if inverted else text
    return Words((text.lower(),), inverted) if text else None


def matches_in(log: LogFile, words: Words, start: int, end: int) -> list[int]:
    """Places of the matching lines that begin from `start` to before `end`, in order. `start` begins a line."""
    block = log.read(start, end - start)
    lowered = block.lower()
    return [
        start + low
        for low, high in _lines(log, block, start)
        if (high > len(block) or words.may_be_in(lowered[low:high]))
        and words.match(_whole(log, block, start, low, high))
    ]


def _lines(log: LogFile, block: bytes, start: int) -> Iterator[tuple[int, int]]:
    low = 0
    while low < len(block):
        high = block.find(b"\n", low) + 1
        if high == 0 or high - low > CELL_BYTES:
            high = log.after(start + low) - start
        yield low, high
        low = high


def _whole(log: LogFile, block: bytes, start: int, low: int, high: int) -> bytes:
    return block[low:high] if high <= len(block) else log.read(start + low, high - low)


class Hunt:
    """Looks for the next matching line in one direction, a step at a time."""

    def __init__(self, log: LogFile, words: Words, start: int, forwards: bool, kept: Words | None = None) -> None:
        """Look from `start` on: it begins the first line that counts, or backwards ends the last one."""
        self.found: int | None = None
        self.done = False
        self._log = log
        self._words = words
        self._kept = kept
        self._start = self._place = start
        self.forwards = forwards

    @property
    def share(self) -> float:
        """How much of its way it has gone."""
        way = self._log.size - self._start if self.forwards else self._start
        return abs(self._place - self._start) / max(1, way)

    def step(self) -> None:
        """Look at the next piece; afterwards it may be `done`, with what it `found`."""
        if self.forwards:
            start, end = self._place, self._log.start_of(min(self._log.size, self._place + STEP_BYTES))
            end = self._log.size if end <= start else end
        else:
            start, end = self._log.start_of(max(0, self._place - STEP_BYTES)), self._place
        places = matches_in(self._log, self._words, start, end)
        if self._kept is not None:
            places = [place for place in places if self._kept.match(self._log.line_at(place))]
        self._place = end if self.forwards else start
        if places:
            self.found = places[0] if self.forwards else places[-1]
        self.done = bool(places) or self._place >= self._log.size or (not self.forwards and self._place <= 0)
