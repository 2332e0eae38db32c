"""A widget that draws a record in lines, and sends only the lines that the new record changed."""

import time
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from widgets.line import Line, forget_styles, same, to_strip

Record = TypeVar("Record")


class Pane(Widget, Generic[Record]):
    """Draws one record. A subclass gives `lines`; border and title come from CSS and `border_title`.

    `can_focus=True` lets the keyboard reach it.
    """

    ALLOW_SELECT: ClassVar[bool] = False  # selection puts a mark on every segment, which costs more than the drawing
    DEFAULT_CSS = "Pane { height: 1fr; }"

    def __init__(
        self,
        record: Record | None = None,
        *,
        title: str | None = None,
        can_focus: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.can_focus = can_focus
        self.record = record
        self._title = title
        self._drawn_for: tuple[Size, Style] | None = None
        self._drawn: list[Line] = []
        self._strips: list[Strip] = []
        self._drawn_at = 0.0

    def on_mount(self) -> None:
        """Put the title into the border. It is plain text, never markup."""
        if self._title is not None:
            self.set_title(self._title)

    def set_title(self, title: str) -> None:
        """Change the border's title; nothing is drawn where it is the same."""
        if self._border_title is None or self._border_title.plain != title:
            self.border_title = Content(title)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """The content, from the record, for this many cells. Fewer lines than `height` leave the rest blank.

        Called whenever the record, the size or the style changes, so it must be cheap and have no side effect.
        """
        raise NotImplementedError

    def show(self, record: Record) -> None:
        """Take a new record. Rows that look the same are not sent again; an equal record costs one comparison."""
        if record != self.record:
            self.record = record
            self.redraw()

    def redraw(self) -> None:
        """Compute the lines again and refresh those that changed; for a change of something other than the record."""
        self._drawn_at = time.monotonic()
        size = self.content_size
        if self._drawn_for is None or self._drawn_for[0] != size:
            self._drawn_for = None
            self.refresh()
            return
        base = self._drawn_for[1]
        for y, line in enumerate(self._filled(size)):
            if not same(self._drawn[y], line):
                self._drawn[y] = line
                self._strips[y] = to_strip(line, size.width, base)
                self.refresh(Region(0, y, size.width, 1))

    def drawn_s_ago(self) -> float:
        """Seconds since the lines were computed last."""
        return time.monotonic() - self._drawn_at

    def render_line(self, y: int) -> Strip:
        """A row of the content, from what was drawn last; Textual calls this."""
        wanted = (self.content_size, self.visual_style)
        if self._drawn_for != wanted:
            self._drawn_for = wanted
            self._drawn = self._filled(wanted[0])
            self._strips = [to_strip(line, wanted[0].width, wanted[1]) for line in self._drawn]
        return self._strips[y] if 0 <= y < len(self._strips) else Strip.blank(wanted[0].width)

    def notify_style_update(self) -> None:
        """Forget what is drawn: colours have changed."""
        super().notify_style_update()
        forget_styles()
        self._drawn_for = None

    def _filled(self, size: Size) -> list[Line]:
        if not size.area:
            return [""] * size.height
        lines = list(self.lines(size.width, size.height))[: size.height]
        return lines + [""] * (size.height - len(lines))
