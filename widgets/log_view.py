"""A log that is followed: search, filter, wrap, jumps to errors. It draws a page, and asks its owner for the next."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from state.outside_text import plain_line
from widgets import figures
from widgets.line import Line
from widgets.log_page import LogAsk, LogPage, LogRow
from widgets.log_text import is_error, styled_log_line
from widgets.pane import Pane


class LogView(Pane[LogPage]):
    """Shows the end of a log until the reader scrolls up, and again after `f` or `G`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_lines(1)", "Down", show=False),
        Binding("up,k", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,space", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", show=False),
        Binding("home,g", "ask('oldest')", "Oldest", show=False),
        Binding("end,G", "ask('newest')", "Newest", show=False),
        Binding("f", "ask('follow')", "Follow", show=False),
        Binding("w", "wrap", "Wrap", show=False),
        Binding("n", "ask('match', 1)", "Next match", show=False),
        Binding("N", "ask('match', -1)", "Previous match", show=False),
        Binding("e", "ask('error', 1)", "Next error", show=False),
        Binding("E", "ask('error', -1)", "Previous error", show=False),
    ]

    class Asked(Message):
        """Other lines are wanted."""

        def __init__(self, view: "LogView", ask: LogAsk) -> None:
            super().__init__()
            self.view = view
            self.ask = ask

        @property
        def control(self) -> "LogView":
            """The view it comes from."""
            return self.view

    def __init__(
        self, *, title: str = "Log", name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(LogPage(), title=title, can_focus=True, name=name, id=id, classes=classes)
        self._heading = title
        self.wrapping = False

    def show(self, record: LogPage) -> None:
        """Take the next page."""
        super().show(record)
        self.set_title(title(self._heading, record, self.wrapping))

    def lines(self, width: int, height: int) -> list[Line]:
        """The rows in sight: of a log that is followed, the newest ones."""
        page = self.record or LogPage()
        rows: list[Line] = []
        for row in page.rows:
            styled = _styled(row, page)
            rows.extend(styled.fold(width) if self.wrapping and styled.cell_length > width else [styled])
            if len(rows) >= height and not page.following:
                break
        return rows[-height:] if page.following else rows[:height]

    def on_resize(self, event: events.Resize) -> None:
        """As many rows as fit."""
        self.action_ask("rows", self.content_size.height)

    def action_ask(self, what: str, amount: int = 0, text: str = "") -> None:
        """Ask for other lines."""
        self.post_message(self.Asked(self, LogAsk(what, amount, text)))  # type: ignore[arg-type]

    def action_scroll_lines(self, lines: int) -> None:
        """Move by lines; this ends following, and reaching the end begins it again."""
        self.action_ask("scroll", lines)

    def action_scroll_pages(self, pages: int) -> None:
        """Move by screens."""
        self.action_ask("scroll", pages * max(1, self.content_size.height - 1))

    def action_wrap(self) -> None:
        """Break long lines, or cut them."""
        self.wrapping = not self.wrapping
        self.redraw()
        self.set_title(title(self._heading, self.record or LogPage(), self.wrapping))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three lines down."""
        event.stop()
        self.action_scroll_lines(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three lines up."""
        event.stop()
        self.action_scroll_lines(-3)


def title(heading: str, page: LogPage, wrapping: bool) -> str:
    """Where the page stands, in words for the border."""
    words = [heading]
    if page.filter:
        words.append(f"only {plain_line(page.filter, 30)!r}: {figures.count(page.kept)} lines")
    elif page.line is not None and page.lines is not None:
        words.append(f"line {figures.count(page.line)} of {figures.count(page.lines)}" if page.lines else "empty")
    if page.size_bytes:
        words.append(f"{figures.binary_bytes(page.size_bytes)}, {page.share * 100:.0f} %")
    words += ["follows"] if page.following else []
    words += ["wraps"] if wrapping else []
    words += [page.message] if page.message else []
    return "  ".join(words)


def _styled(row: LogRow, page: LogPage) -> Content:
    content = styled_log_line(row.text)
    if not content.spans and is_error(content.plain):
        content = content.stylize("$text-error")
    place = content.plain.lower().find(page.search.lower()) if page.search else -1
    while place >= 0:
        content = content.stylize("reverse", place, place + len(page.search))
        place = content.plain.lower().find(page.search.lower(), place + len(page.search))
    return content.stylize("bold underline") if row.place == page.marked else content
