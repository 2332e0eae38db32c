"""The lines of a log that a view shows, and what moves them. It reads only what is in sight or asked."""

import time
from pathlib import Path

from console.feed.log_count import LineCount
from console.feed.log_file import LogFile
from console.feed.log_filter import LogFilter
from console.feed.log_search import ERRORS, Hunt, Words, words_of
from widgets.log_page import LogAsk, LogPage, LogRow

FIRST_ROWS = 24
MOST_ROWS = 500


class LogWindow:
    """Where a reader stands in a log."""

    def __init__(self, path: Path) -> None:
        self._log = LogFile(path)
        self._count = LineCount(self._log)
        self._filter: LogFilter | None = None
        self._hunt: Hunt | None = None
        self._words: Words | None = None
        self._rows = FIRST_ROWS
        self._sized = False
        self._top = 0
        self._following = True
        self._marked: int | None = None
        self._texts = {"search": "", "filter": ""}
        self._message = ""

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    @property
    def hunting(self) -> bool:
        """Whether it still searches."""
        return self._hunt is not None

    def refresh(self) -> None:
        """Look whether the log has grown or was rotated.

        Raises:
            OSError: It cannot be read.
        """
        moved = self._log.refresh()
        if moved is not None:
            self._count = LineCount(self._log)
            self._filter = LogFilter(self._log, self._filter.words) if self._filter is not None else None
            self._hunt = None
            self._top = max(0, self._top + moved)
            self._marked = None if self._marked is None or self._marked + moved < 0 else self._marked + moved

    def work(self, seconds: float) -> bool:
        """Search, filter and count for so long. `False` where nothing is left to do."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._hunt is not None:
                self._hunt.step()
                self._end_hunt(self._hunt)
            elif not ((self._filter is not None and self._filter.step()) or self._count.step()):
                return False
        return True

    def ask(self, ask: LogAsk) -> None:
        """Move, search or filter."""
        self._message = ""
        if ask.what == "rows":
            self._resize(min(max(1, ask.amount), MOST_ROWS))
        elif ask.what == "scroll":
            self._scroll(ask.amount)
        elif ask.what == "oldest":
            self._top, self._following = 0, False
            self._top = self._kept_from(0)
        elif ask.what in ("newest", "follow"):
            self._follow(ask.what == "newest" or not self._following)
        elif ask.what == "filter":
            self._set_filter(ask.text)
        elif ask.what == "search":
            self._texts["search"], self._words = ask.text, words_of(ask.text)
            self._marked = None
            self._start_hunt(self._words, -1)
        else:
            self._start_hunt(ERRORS if ask.what == "error" else self._words, ask.amount)

    def page(self) -> LogPage:
        """What is in sight now."""
        if self._following:
            self._top = self._top_at_end()
        rows: list[LogRow] = []
        place = self._top
        while len(rows) < self._rows and place < self._log.size:
            rows.append(LogRow(place, self._log.line_at(place).decode(errors="replace")))
            place = self._after(place)
        end = self._log.after(rows[-1].place) if rows else 0
        return LogPage(
            rows=tuple(rows),
            following=self._following,
            marked=self._marked,
            search=self._texts["search"],
            filter=self._texts["filter"],
            kept=len(self._filter) if self._filter is not None else 0,
            size_bytes=self._log.size,
            share=1.0 if self._following else end / max(1, self._log.size),
            line=None if self._filter is not None else self._count.number(self._top),
            lines=self._count.lines(),
            message=self._doing() or self._message,
        )

    def _after(self, place: int) -> int:
        return self._filter.after(place) if self._filter is not None else self._log.after(place)

    def _before(self, place: int) -> int:
        return self._filter.before(place) if self._filter is not None else self._log.before(place)

    def _kept_from(self, place: int) -> int:
        """The first line in question that begins there or later."""
        return self._filter.after(place - 1) if self._filter is not None else place

    def _back(self, place: int, lines: int) -> int:
        for _ in range(lines):
            place = self._before(place)
        return place

    def _top_at_end(self) -> int:
        return self._back(self._log.size, self._rows)

    def _resize(self, rows: int) -> None:
        """The first line in sight stays. A scroll from before the first size was known counts from the end."""
        if not self._sized and not self._following:
            end = self._top
            for _ in range(self._rows):
                end = self._after(end)
            self._top = self._back(end, rows)
        self._rows, self._sized = rows, True
        if not self._following:
            self._top = min(self._top, self._top_at_end())

    def _scroll(self, lines: int) -> None:
        last = self._top_at_end()
        if self._following:
            self._top = last
        if lines < 0:
            self._top, self._following = self._back(self._top, -lines), False
            return
        for _ in range(lines):
            self._top = min(self._after(self._top), last)
        self._follow(self._top >= last)

    def _follow(self, following: bool) -> None:
        self._following = following

    def _set_filter(self, text: str) -> None:
        words = words_of(text, may_invert=True)
        self._texts["filter"] = text if words else ""
        self._filter = LogFilter(self._log, words) if words else None
        self._following = self._following or self._filter is not None
        if self._filter is None and self._marked is not None:
            self._show(self._marked)

    def _start_hunt(self, words: Words | None, step: int) -> None:
        if words is None:
            return
        if step > 0:
            start = self._top if self._marked is None else self._log.after(self._marked)
        else:
            start = self._log.size if self._marked is None else self._marked
        self._hunt = Hunt(self._log, words, start, step > 0, self._filter.words if self._filter is not None else None)

    def _end_hunt(self, hunt: Hunt) -> None:
        if not hunt.done:
            return
        self._hunt = None
        if hunt.found is None:
            self._message = "not found below" if hunt.forwards else "not found above"
            return
        self._marked = hunt.found
        self._show(hunt.found)

    def _show(self, place: int) -> None:
        self._following = False
        self._top = min(self._back(place, self._rows // 3), self._top_at_end())

    def _doing(self) -> str:
        if self._hunt is not None:
            return f"searches: {self._hunt.share * 100:.0f} %"
        if self._filter is not None and self._filter.share < 1:
            return f"filters: {self._filter.share * 100:.0f} %"
        return ""
