"""Rows of a table as strips, each drawn once for as long as its record stays equal."""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from widgets.columns import GAP, Column, fit
from widgets.glyphs import glyphs
from widgets.line import aligned, plain, to_strip

Record = TypeVar("Record")

CACHED_ROWS = 400
"""More than any screen shows; beyond it the cache starts anew."""


class RowDrawer(Generic[Record]):
    """Draws for one width and one style of rows; make a new one when either changes."""

    def __init__(self, columns: Sequence[Column[Record]], width: int, base: Style, cursor: Style) -> None:
        self.width = width
        self.base = base
        self.cursor = cursor
        # The last cell is kept for the scroll mark, so that columns do not move when rows come and go.
        self.columns = [(columns[index], cells) for index, cells in fit(columns, max(1, width - 1))]
        self._cache: dict[tuple[Hashable, bool, bool], tuple[Record, Strip]] = {}

    def row(self, key: Hashable, record: Record, *, on_cursor: bool, thumb: bool) -> Strip:
        """One record. `thumb` puts a piece of the scroll mark at the right edge."""
        place = (key, on_cursor, thumb)
        cached = self._cache.get(place)
        if cached is not None and cached[0] == record:
            return cached[1]
        if len(self._cache) >= CACHED_ROWS:
            self._cache.clear()
        strip = self._draw(record, on_cursor=on_cursor, thumb=thumb)
        self._cache[place] = (record, strip)
        return strip

    def use_cursor(self, cursor: Style) -> None:
        """Take another style of the row under the cursor; all other rows stay as they are drawn."""
        if cursor != self.cursor:
            self.cursor = cursor
            self._cache = {place: drawn for place, drawn in self._cache.items() if not place[1]}

    def header(self, sorted_by: Column[Record] | None, *, descending: bool, style: str) -> Content:
        """Titles, with a mark beside the one that rows are sorted by."""
        mark = glyphs().descending if descending else glyphs().ascending
        cells = [
            aligned(f"{column.title}{mark}" if column is sorted_by else column.title, size, column.align)
            for column, size in self.columns
        ]
        return Content(" " * GAP).join(cells).stylize(style)

    def column_at(self, x: int) -> Column[Record] | None:
        """The column that covers the cell `x`; the gap behind a column belongs to it."""
        end = 0
        for column, size in self.columns:
            end += size + GAP
            if x < end:
                return column
        return None

    def _draw(self, record: Record, *, on_cursor: bool, thumb: bool) -> Strip:
        cells = [aligned(column.cell(record), size, column.align) for column, size in self.columns]
        line = Content(" " * GAP).join(cells)
        if on_cursor:  # colours of cells would be hard to read on the cursor's background
            return to_strip(plain(line), self.width, self.cursor)
        strip = to_strip(line, self.width, self.base)
        if thumb:
            mark = Segment(glyphs().thumb, self.base.rich_style)
            return Strip([*strip.crop(0, self.width - 1), mark], self.width)
        return strip


def searchable(columns: Sequence[Column[Any]], record: Any) -> str:
    """What a filter is matched against: the text of all cells, also of those that the screen has no room for."""
    return "  ".join(plain(column.cell(record)) for column in columns)
