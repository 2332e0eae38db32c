"""What a log view draws, and what it asks for: it holds a screenful, whatever the log's size."""

from typing import Literal

import msgspec


class LogRow(msgspec.Struct, frozen=True):
    """A line of the log."""

    place: int
    """In bytes from the log's beginning."""
    text: str
    """As it was written: with escape sequences and carriage returns."""


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """The lines in sight, and where they stand."""

    rows: tuple[LogRow, ...] = ()
    following: bool = True
    marked: int | None = None
    """Place of the line that a search or a jump found."""
    search: str = ""
    filter: str = ""
    kept: int = 0
    """Lines that the filter has kept so far."""
    size_bytes: int = 0
    share: float = 1.0
    """Of the log that lies before the end of the last row."""
    line: int | None = None
    """Number of the first row, from 1; `None` while lines are still being counted, and under a filter."""
    lines: int | None = None
    """Of the whole log; `None` while they are being counted."""
    message: str = ""
    """What it is doing, or what came of it: `searches: 43 %`, `not found`."""


class LogAsk(msgspec.Struct, frozen=True):
    """Something that the reader wants to see."""

    what: Literal["rows", "scroll", "oldest", "newest", "follow", "search", "match", "error", "filter"]
    amount: int = 0
    """Rows that fit; lines to scroll; 1 for the next and -1 for the one before."""
    text: str = ""
    """To search, or to keep; with `!` before it, a filter keeps the other lines."""
