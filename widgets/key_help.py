"""The keys that work here, in groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

COLUMN_CELLS = 38
"""Least width of a column of keys; a screen shows as many side by side as it has room for."""

KEY_CELLS = 12
GAP_CELLS = 2


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Keys that belong together."""

    title: str
    keys: tuple[tuple[str, str], ...]
    """Key as it is printed on it, and what it does in a few words."""


def help_lines(groups: Sequence[KeyGroup], width: int) -> Content:
    """Lay the groups out in columns, filled one after the other."""
    shown = [group for group in groups if group.keys]
    count = max(1, min(len(shown), width // COLUMN_CELLS))
    cells = width // count
    blocks = [_block(group, cells - GAP_CELLS) for group in shown]
    columns: list[list[Content]] = [[] for _ in range(count)]
    for block in blocks:
        shortest = min(columns, key=len)
        shortest.extend([*([Content("")] if shortest else []), *block])
    height = max((len(column) for column in columns), default=0)
    rows = [
        Content("").join(_padded(column[y] if y < len(column) else Content(""), cells) for column in columns)
        for y in range(height)
    ]
    return Content("\n").join(row.rstrip() for row in rows)


class KeyHelp(ModalScreen[None]):
    """Shows the groups that it is given; any of Escape, `?`, `q` or F1 closes it."""

    DEFAULT_CSS = """
    KeyHelp {
        align: center middle;
        & > VerticalScroll {
            width: 114; max-width: 100%; height: auto; max-height: 100%;
            border: round $primary; background: $surface; padding: 0 1;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,f1", "dismiss", "Close", show=False)]

    def __init__(self, groups: Sequence[KeyGroup], title: str = "Keys") -> None:
        super().__init__()
        self._groups = tuple(groups)
        self._heading = title

    def compose(self) -> ComposeResult:
        """One text that scrolls where it is too long."""
        frame = VerticalScroll()
        frame.border_title = Content(self._heading)
        frame.border_subtitle = Content("Esc: back")
        with frame:
            yield Static(help_lines(self._groups, min(108, self.app.size.width - 6)))


def _block(group: KeyGroup, cells: int) -> list[Content]:
    lines = [Content.styled(group.title, "bold underline")]
    for key, meaning in group.keys:
        first, *more = wrap(meaning, max(1, cells - KEY_CELLS)) or [""]
        lines.append(Content.assemble((key.ljust(KEY_CELLS), "bold $accent"), first))
        lines.extend(Content(" " * KEY_CELLS + line) for line in more)
    return lines


def _padded(line: Content, cells: int) -> Content:
    return line.pad_right(max(0, cells - line.cell_length))
