"""The first line of every screen: which screens there are, where this is, and whether the engine lives."""

import msgspec
from textual.content import Content

from widgets.line import Line, aligned, cut
from widgets.pane import Pane


class Title(msgspec.Struct, frozen=True):
    """What the line says."""

    screens: tuple[tuple[str, str], ...]
    """Keys and short names."""
    current: str
    """The short name of the screen in sight, or of the list that its details belong to."""
    details: str
    """What is shown in full; empty on a list."""
    state: str
    style: str
    """Of the state."""
    summary: str = ""
    """Drawn alone where the terminal is too small for anything else."""


class TitleBar(Pane[Title]):
    """The screens at the left, the one in sight in brackets; the state at the right, which goes before screens do."""

    DEFAULT_CSS = "TitleBar { height: 1; background: $panel; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """As much as fits: names of all screens, else keys alone and the name of the one in sight."""
        title = self.record
        if title is None:
            return [""]
        if title.summary:
            return [cut(Content.assemble((f" {title.summary}", "bold")), width)]
        right = Content.assemble((title.state, title.style), " ")
        wide = _left(title, short=False)
        left = wide if wide.cell_length + right.cell_length + 1 <= width else _left(title, short=True)
        room = max(0, width - right.cell_length)
        if left.cell_length + 1 > room:
            left = Content.assemble((" Alula ", "bold $accent"), (title.details or title.current, "bold"))
        return [cut(aligned(left, room) + right, width)]


def _left(title: Title, *, short: bool) -> Content:
    line, gap = Content.styled(" Alula", "bold $accent"), " "
    for key, name in title.screens:
        if name == title.current:
            line += Content.styled(f"[{key} {name}]", "bold")
            gap = ""
        else:
            line += Content.assemble(gap, (key, "$accent"), "" if short else f" {name}")
            gap = " "
    if title.details:
        line += Content.styled(f"{gap}{title.details}", "bold")
    return line
