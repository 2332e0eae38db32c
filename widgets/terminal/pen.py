"""The terminal's real cursor and style, and the shortest way to move and change them."""

from collections.abc import Sequence
from typing import TypeAlias

from widgets.terminal.cells import CONTINUATION, Cell
from widgets.terminal.shadow import Shadow
from widgets.terminal.style import TerminalStyle, on_blank, transition

_LONGEST_GAP = 4
"""Cells that are written again sooner than the cursor is moved over them: a move takes four bytes or more."""

PlacedCell: TypeAlias = tuple[int, int, Cell]
"""Column, row and what stands there."""


class Pen:
    """Collects output. `position` and `style` are `None` while they are not known."""

    def __init__(self) -> None:
        self.position: tuple[int, int] | None = None
        self.style: TerminalStyle | None = None
        self._link = ""
        self._output: list[str] = []

    def forget(self) -> None:
        """Cursor and style may be anything."""
        self.position = None
        self.style = None

    def take(self) -> str:
        """What has been collected since the last call."""
        output = "".join(self._output)
        self._output.clear()
        return output

    def pass_on(self, raw: str) -> None:
        """Send something as it is."""
        self._output.append(raw)

    def take_style(self, style: TerminalStyle) -> None:
        """Write with this style from now on."""
        if self.style != style:
            self._output.append(transition(self.style, style))
            self.style = style
        if self._link != style.link:
            self._output.append(f"\x1b]8;{style.link or ';'}\x1b\\")
            self._link = style.link

    def write_all(self, shadow: Shadow, cells: Sequence[PlacedCell]) -> None:
        """Write cells in this order."""
        for x, y, cell in cells:
            self.write(shadow, x, y, cell)

    def write_shorter(self, shadow: Shadow, one: Sequence[PlacedCell], other: Sequence[PlacedCell]) -> None:
        """Write the same cells in one of two orders, the one that takes fewer characters."""
        trials = []
        for order in (one, other):
            trial = Pen()
            trial.position, trial.style, trial._link = self.position, self.style, self._link
            trial.write_all(shadow, order)
            trials.append((trial, trial.take()))
        best, output = min(trials, key=lambda each: len(each[1]))
        self.position, self.style, self._link = best.position, best.style, best._link
        self._output.append(output)

    def write(self, shadow: Shadow, x: int, y: int, cell: Cell) -> None:
        """Write one cell at its place."""
        self.move(shadow, x, y)
        self.take_style(self._style_for(cell))
        self._output.append(cell.text)
        end = x + cell.width
        # Behind the last column terminals differ: some wait there to wrap, some stay.
        self.position = (end, y) if cell.certain and end < shadow.width else None

    def move(self, shadow: Shadow, x: int, y: int) -> None:
        """Go to a cell; over a few known cells of the present style by writing them again."""
        if self.position == (x, y):
            return
        self._output.append(self._gap(shadow, x, y) or _move(self.position, x, y))
        self.position = (x, y)

    def _gap(self, shadow: Shadow, x: int, y: int) -> str:
        if self.position is None or self.position[1] != y or not 0 < x - self.position[0] <= _LONGEST_GAP:
            return ""
        between = shadow.rows[y][self.position[0] : x]
        texts = [cell.text for cell in between if cell is not None and self._can_repeat(cell)]
        return "".join(texts) if len(texts) == len(between) else ""

    def _can_repeat(self, cell: Cell) -> bool:
        plain = cell is not CONTINUATION and cell.certain and len(cell.text.encode()) == 1
        return plain and self._style_for(cell) == self.style

    def _style_for(self, cell: Cell) -> TerminalStyle:
        """The style to write a cell with: for a blank, as much of the present one as cannot be seen on it."""
        if cell.text != " " or self.style is None or cell.style.attributes:
            return cell.style
        seen = on_blank(self.style)
        if seen.attributes:
            return cell.style._replace(foreground=self.style.foreground)
        return self.style._replace(background=cell.style.background, link=cell.style.link)


def _move(start: tuple[int, int] | None, x: int, y: int) -> str:
    """The shortest of the moves that every terminal knows."""
    absolute = f"\x1b[{y + 1 if y else ''}{f';{x + 1}' if x else ''}H"
    if start is None:
        return absolute
    ways = [absolute]
    if start[1] == y:
        distance = x - start[0]
        ways.append(f"\x1b[{_times(abs(distance))}{'C' if distance > 0 else 'D'}")
        if x == 0:
            ways.append("\r")
    elif start[0] == x:
        distance = y - start[1]
        ways.append(f"\x1b[{_times(abs(distance))}{'B' if distance > 0 else 'A'}")
    return min(ways, key=len)


def _times(number: int) -> str:
    return "" if number == 1 else str(number)
