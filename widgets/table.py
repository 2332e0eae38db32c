"""A table of records: any number of rows, a cursor that stays on its record, sorting, a filter, narrow screens."""

from collections.abc import Callable, Hashable, Sequence
from textwrap import wrap
from typing import Any, ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.style import Style

from state.outside_text import plain_line
from widgets.columns import Column
from widgets.figures import ABSENT
from widgets.line import Line, cut, parsed, plain
from widgets.pane import Pane
from widgets.row_drawer import RowDrawer, searchable
from widgets.row_order import ordered, parse_filter
from widgets.scrolling import scrolled, thumb_range

Record = TypeVar("Record")

BLANK = ("", ABSENT)
SHOWN_FILTER_CELLS = 40


class Table(Pane[Sequence[Record]]):
    """Draws only the rows in sight, each once for as long as its record stays equal."""

    DEFAULT_CSS = "Table { height: 1fr; }"
    CURSOR_STYLE = "$block-cursor-foreground on $block-cursor-background"
    RESTING_CURSOR_STYLE = "$block-cursor-blurred-foreground on $block-cursor-blurred-background"
    HEADER_STYLE = "bold $text-muted"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("home,g", "move_to(0)", "First", show=False),
        Binding("end,G", "move_to(-1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
        Binding("s", "sort", "Sort", show=False),
        Binding("S", "reverse", "Reverse", show=False),
    ]

    class RecordMessage(Message):
        """Something about one record of a table."""

        def __init__(self, table: "Table[Any]", record: Any) -> None:
            super().__init__()
            self.table = table
            self.record = record

        @property
        def control(self) -> "Table[Any]":
            """The table it comes from."""
            return self.table

    class Highlighted(RecordMessage):
        """The cursor stands on another record, or that record has changed. `record` is `None` in an empty table."""

        def can_replace(self, message: Message) -> bool:
            """Only the last one of a burst counts."""
            return isinstance(message, Table.Highlighted) and message.table is self.table

    class Opened(RecordMessage):
        """Enter was pressed on a record, or it was clicked twice."""

    def __init__(
        self,
        columns: Sequence[Column[Record]],
        *,
        key: Callable[[Record], Hashable],
        empty: str = "Nothing here.",
        sort_by: str | None = None,
        reverse: bool = False,
        title: str | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Make a table.

        Args:
            columns: In the order in which they are drawn.
            key: What tells that a record of a new list is the same thing as one of the old list.
            empty: Drawn where there are no rows; say why and what to do.
            sort_by: Title of the column that sorts at first; otherwise rows keep the order that they are given in.
            reverse: Sort downwards at first.
        """
        super().__init__((), title=title, can_focus=True, name=name, id=id, classes=classes)
        self.columns = tuple(columns)
        self.key = key
        self.empty = empty
        self.sorted_by: Column[Record] | None = next((c for c in columns if c.title == sort_by), None)
        self.reversed = reverse
        self.filter_text = ""
        self.cursor = 0
        self.rows: list[Record] = []
        """Rows after filter and sorting."""
        self._top = 0
        self._drawer: RowDrawer[Record] | None = None
        self._drawn_with: tuple[int, Style, str, Sequence[Column[Record]]] | None = None
        self._in_use: tuple[Column[Record], ...] = self.columns
        self._texts: dict[Hashable, tuple[Record, str]] = {}
        self._highlighted: Record | None = None

    @property
    def selected(self) -> Record | None:
        """The record under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    def show(self, record: Sequence[Record]) -> None:
        """Take new rows, in any order. The cursor stays on the same record, or near it where that is gone."""
        if record != self.record:
            self.record = record
            self._arrange()

    def filter(self, text: str) -> None:
        """Show only rows that match; the grammar is that of `parse_filter`. An empty text shows all."""
        if text != self.filter_text:
            self.filter_text = text
            self._arrange()

    def sort(self, title: str | None, *, reverse: bool = False) -> None:
        """Sort by the column of this title; `None` keeps the order that rows are given in."""
        self.sorted_by = next((c for c in self.columns if c.title == title and c.sort_key), None)
        self.reversed = reverse
        self._arrange()

    def select(self, key: Hashable) -> bool:
        """Put the cursor on the record with this key; `False` where no such row is shown."""
        for index, row in enumerate(self.rows):
            if self.key(row) == key:
                self.action_move_to(index)
                return True
        return False

    def empty_text(self) -> str:
        """Why there is no row, and what to do."""
        hidden = len(self.record or ())
        words = cut(Content(self.filter_text), SHOWN_FILTER_CELLS).plain
        return f"No row matches {words!r} ({hidden} hidden)." if hidden else self.empty

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """The header and the rows in sight."""
        drawer = self._drawer_for(width)
        header = drawer.header(self.sorted_by, descending=self.reversed, style=self.HEADER_STYLE)
        page = max(1, height - 1)
        if not self.rows:
            words = wrap(plain_line(self.empty_text()), max(10, width - 3))
            return [header, *([""] if height > 1 + len(words) else []), *(f"  {line}" for line in words)]
        self._top = scrolled(self._top, self.cursor, page, len(self.rows))
        thumb = thumb_range(self._top, page, len(self.rows))
        visible = self.rows[self._top : self._top + page]
        return [
            header,
            *(
                drawer.row(self.key(row), row, on_cursor=self._top + y == self.cursor, thumb=y in thumb)
                for y, row in enumerate(visible)
            ),
        ]

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many rows, as far as there are any."""
        self.action_move_to(min(max(self.cursor + rows, 0), max(len(self.rows) - 1, 0)))

    def action_move_page(self, pages: int) -> None:
        """Move the cursor by so many screens."""
        self.action_move(pages * max(1, self.content_size.height - 2))

    def action_move_to(self, index: int) -> None:
        """Put the cursor on a row; -1 is the last."""
        self.cursor = max(0, len(self.rows) - 1) if index < 0 else min(index, max(0, len(self.rows) - 1))
        self._redraw_and_tell()

    def action_open(self) -> None:
        """Say that the record under the cursor is to be opened."""
        if (record := self.selected) is not None:
            self.post_message(self.Opened(self, record))

    def action_sort(self) -> None:
        """Sort by the next column that can be sorted by; after the last one, in the order that rows are given in."""
        choices: list[Column[Record] | None] = [None, *(column for column in self.columns if column.sort_key)]
        following = choices[(choices.index(self.sorted_by) + 1) % len(choices)]
        self.sort(following.title if following else None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.reversed = not self.reversed
        self._arrange()

    def on_click(self, event: events.Click) -> None:
        """A row takes the cursor, or opens on the second click; a title sorts, or turns the order round."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y > 0:
            self._click_row(self._top + offset.y - 1, opens=event.chain > 1)
        elif self._drawer and (column := self._drawer.column_at(offset.x)) and column.sort_key:
            self.sort(column.title, reverse=column is self.sorted_by and not self.reversed)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        event.stop()
        self.action_move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        event.stop()
        self.action_move(-3)

    def on_focus(self) -> None:
        """Show the cursor as the one that keys move."""
        self.redraw()

    def on_blur(self) -> None:
        """Show the cursor at rest."""
        self.redraw()

    def _click_row(self, index: int, *, opens: bool) -> None:
        if index < len(self.rows):
            self.action_move_to(index)
            if opens:
                self.action_open()

    def _arrange(self) -> None:
        kept = self.key(self.rows[self.cursor]) if self.rows else None
        rows = self._filtered()
        if self.sorted_by is not None and self.sorted_by.sort_key is not None:
            rows = ordered(rows, self.sorted_by.sort_key, reverse=self.reversed)
        elif self.reversed:
            rows.reverse()
        self.rows = rows
        self._in_use = tuple(column for column in self.columns if self._is_in_use(column))
        self.cursor = self._place_of(kept)
        self._redraw_and_tell()

    def _is_in_use(self, column: Column[Record]) -> bool:
        if not column.if_any or column is self.sorted_by or not self.rows:
            return True
        return any(plain(column.cell(row)) not in BLANK for row in self.rows)

    def _place_of(self, key: Hashable) -> int:
        at_most = min(self.cursor, max(0, len(self.rows) - 1))
        if self.rows and self.key(self.rows[at_most]) == key:
            return at_most
        return next((index for index, row in enumerate(self.rows) if self.key(row) == key), at_most)

    def _filtered(self) -> list[Record]:
        if not self.filter_text.strip():
            self._texts = {}
            return list(self.record or ())
        matches = parse_filter(self.filter_text)
        self._texts = {self.key(row): self._text_of(row) for row in self.record or ()}
        return [row for row, text in self._texts.values() if matches(text)]

    def _text_of(self, row: Record) -> tuple[Record, str]:
        known = self._texts.get(self.key(row))
        return known if known is not None and known[0] == row else (row, searchable(self.columns, row))

    def _redraw_and_tell(self) -> None:
        self.redraw()
        if self.selected != self._highlighted:
            self._highlighted = self.selected
            self.post_message(self.Highlighted(self, self.selected))

    def _drawer_for(self, width: int) -> RowDrawer[Record]:
        base = self.visual_style
        cursor = base + parsed(self._cursor_style())
        drawer = self._drawer
        # Focus updates the styles too, and changes nothing but the row under the cursor.
        wanted = (width, base, self.app.theme, self._in_use)
        if drawer is None or self._drawn_with != wanted:
            self._drawn_with = wanted
            drawer = self._drawer = RowDrawer(self._in_use, width, base, cursor)
        drawer.use_cursor(cursor)
        return drawer

    def _cursor_style(self) -> str:
        if self.app.no_color:
            return "reverse" if self.has_focus else "bold underline"
        return self.CURSOR_STYLE if self.has_focus else self.RESTING_CURSOR_STYLE
