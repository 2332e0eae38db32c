"""The last lines of a log, from chunks of it: bounded in number and length, and harmless."""

import re
from collections import deque

from state.outside_text import plain_line

LONGEST_LINE = 2_000
"""Characters that are kept of a line; a line of base64 or of a tensor can have millions."""

ERROR = re.compile(r"error|exception|traceback|fatal|panic|out of memory|killed|core dumped|segfault", re.IGNORECASE)
"""What a line that matters usually holds."""


class LogBuffer:
    """Takes chunks as they were read. Lines are numbered from the first ever taken: numbers stay when lines go."""

    def __init__(self, most_lines: int = 20_000) -> None:
        self._lines: deque[str] = deque(maxlen=most_lines)
        self._open = ""
        self.first = 0
        """Number of the oldest line that is kept."""

    @property
    def end(self) -> int:
        """One more than the number of the newest line; an unfinished line counts."""
        return self.first + len(self._lines) + bool(self._open)

    def push(self, chunk: str) -> None:
        """Take a piece of the log. A line may end in a later piece."""
        *complete, rest = (self._open + chunk).split("\n")
        for line in complete:
            if len(self._lines) == self._lines.maxlen:
                self.first += 1
            self._lines.append(tidy(line))
        # Only the newest state of a progress line is kept, and no more of an endless line than is shown.
        self._open = _newest_state(rest)[: LONGEST_LINE * 2]

    def line(self, number: int) -> str:
        """One line; an empty text for a number that is not kept."""
        index = number - self.first
        if 0 <= index < len(self._lines):
            return self._lines[index]
        return tidy(self._open) if index == len(self._lines) else ""

    def window(self, start: int, count: int) -> list[str]:
        """Lines from a number on, as many as there are."""
        return [self.line(number) for number in range(max(start, self.first), min(start + count, self.end))]

    def find(self, pattern: re.Pattern[str], start: int, step: int) -> int | None:
        """The next line from `start` on, downwards (1) or upwards (-1), that the pattern is found in."""
        stop = self.end if step > 0 else self.first - 1
        start = min(max(start, self.first - 1), self.end)
        return next((number for number in range(start, stop, step) if pattern.search(self.line(number))), None)


def tidy(line: str) -> str:
    """A line without escape sequences, with the last state of a progress bar alone, cut where it is very long."""
    shown = _newest_state(line.rstrip("\r"))
    plain = plain_line(shown, LONGEST_LINE)
    missing = len(shown) - LONGEST_LINE * 8
    return f"{plain[:-1]}…" if len(plain) == LONGEST_LINE or missing > 0 else plain


def _newest_state(line: str) -> str:
    """What a terminal shows after carriage returns: the last text that is not blank."""
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1] if states else ""
