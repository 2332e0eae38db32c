"""A log that is followed: search, wrap, jumps to errors. Its text is pushed in chunks; it reads no file."""

import re
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from widgets.line import Line
from widgets.log_buffer import ERROR, LogBuffer
from widgets.pane import Pane


class LogView(Pane[int]):
    """Shows the end of a log until the reader scrolls up, and again after `f` or `G`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_lines(1)", "Down", show=False),
        Binding("up,k", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,space", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", show=False),
        Binding("home,g", "top", "Oldest", show=False),
        Binding("end,G", "bottom", "Newest", show=False),
        Binding("f", "follow", "Follow", show=False),
        Binding("w", "wrap", "Wrap", show=False),
        Binding("n", "next_match(1)", "Next match", show=False),
        Binding("N", "next_match(-1)", "Previous match", show=False),
        Binding("e", "next_error(1)", "Next error", show=False),
        Binding("E", "next_error(-1)", "Previous error", show=False),
    ]

    class StateChanged(Message):
        """Follow, wrap or search has changed; the screen may say so."""

        def __init__(self, view: "LogView") -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> "LogView":
            """The view it comes from."""
            return self.view

    def __init__(
        self,
        *,
        most_lines: int = 20_000,
        title: str | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(0, title=title, can_focus=True, name=name, id=id, classes=classes)
        self._most_lines = most_lines
        self.buffer = LogBuffer(most_lines)
        self.following = True
        self.wrapping = False
        self.pattern: re.Pattern[str] | None = None
        self.marked: int | None = None
        """The line that a search or a jump to an error found."""
        self._top = 0

    def push(self, chunk: str) -> None:
        """Take a piece of the log, as it was read."""
        self.buffer.push(chunk)
        self.redraw()

    def clear(self) -> None:
        """Start with another log."""
        self.buffer = LogBuffer(self._most_lines)
        self._top, self.marked, self.following = 0, None, True
        self.redraw()

    def search(self, text: str) -> bool:
        """Look for a text, without regard to case, from the end upwards; `False` where it is nowhere."""
        self.pattern = re.compile(re.escape(text), re.IGNORECASE) if text else None
        self.marked = None
        self._changed()
        return self._jump(self.pattern, -1) if self.pattern else True

    def lines(self, width: int, height: int) -> list[Line]:
        """The rows in sight."""
        if self.following:
            self._top = self._top_at_end(width, height)
        self._top = max(self._top, self.buffer.first)
        rows: list[Line] = []
        for number in range(self._top, min(self._top + height, self.buffer.end)):
            styled = self._styled(number)
            rows.extend(styled.fold(width) if self.wrapping and styled.cell_length > width else [styled])
            if len(rows) >= height:
                break
        return rows[:height]

    def action_scroll_lines(self, lines: int) -> None:
        """Move the window by lines; this ends following, and reaching the end begins it again."""
        width, height = self.content_size
        last = self._top_at_end(width, height)
        self._top = min(max(self._top + lines, self.buffer.first), last)
        self._set_following(self._top >= last and lines > 0)

    def action_scroll_pages(self, pages: int) -> None:
        """Move the window by screens."""
        self.action_scroll_lines(pages * max(1, self.content_size.height - 1))

    def action_top(self) -> None:
        """To the oldest line that is kept."""
        self._top = self.buffer.first
        self._set_following(False)

    def action_bottom(self) -> None:
        """To the newest line, and follow."""
        self._set_following(True)

    def action_follow(self) -> None:
        """Follow, or stay here."""
        self._set_following(not self.following)

    def action_wrap(self) -> None:
        """Break long lines, or cut them."""
        self.wrapping = not self.wrapping
        self._changed()

    def action_next_match(self, step: int) -> None:
        """To the next line (-1: the line before) that the search finds."""
        if self.pattern:
            self._jump(self.pattern, step)

    def action_next_error(self, step: int) -> None:
        """To the next line (-1: the line before) that looks like an error."""
        self._jump(ERROR, step)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three lines down."""
        event.stop()
        self.action_scroll_lines(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three lines up."""
        event.stop()
        self.action_scroll_lines(-3)

    def _jump(self, pattern: re.Pattern[str], step: int) -> bool:
        start = self.marked + step if self.marked is not None else (self._top if step > 0 else self.buffer.end - 1)
        found = self.buffer.find(pattern, start, step)
        if found is None:
            return False
        self.marked = found
        self._top = max(self.buffer.first, found - self.content_size.height // 3)
        self._set_following(False)
        return True

    def _top_at_end(self, width: int, height: int) -> int:
        if not self.wrapping or width < 2:
            return max(self.buffer.first, self.buffer.end - height)
        number, rows = self.buffer.end, 0
        while number > self.buffer.first:
            needed = max(1, -(-Content(self.buffer.line(number - 1)).cell_length // width))
            if rows + needed > height:
                break
            rows += needed
            number -= 1
        return min(number, max(self.buffer.first, self.buffer.end - 1))

    def _styled(self, number: int) -> Content:
        text = self.buffer.line(number)
        content = Content(text, strip_control_codes=False)
        if ERROR.search(text):
            content = content.stylize("$text-error")
        if self.pattern:
            content = content.highlight_regex(self.pattern, style="reverse")
        return content.stylize("bold underline") if number == self.marked else content

    def _set_following(self, following: bool) -> None:
        self.following = following
        self._changed()

    def _changed(self) -> None:
        self.redraw()
        self.post_message(self.StateChanged(self))
