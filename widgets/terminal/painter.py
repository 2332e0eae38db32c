"""Takes what an application writes for the whole screen and gives what the terminal needs to look the same."""

from widgets.terminal.cells import CONTINUATION, Cell, cells_of
from widgets.terminal.pen import Pen
from widgets.terminal.shadow import Shadow
from widgets.terminal.style import PLAIN, TerminalStyle, applied, without_colours
from widgets.terminal.tokens import Kind, Token, Tokeniser

SYNC_START, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"

LEAST_SYNCHRONISED = 2048
"""Characters from which on a frame keeps its marks of synchronised output. A smaller one arrives in one piece, and the
marks would be a tenth of it or more."""

MOST_SORTED = 400
"""Changed cells up to which both orders are tried; a frame with more is a new screen."""


class Painter:
    """Follows the application's cursor and style, and sends cells that differ from what the terminal shows.

    What it does not know is passed on, with cursor and style put where the application believes them to be. Then all
    that was known of the screen is forgotten, so that the next frame is drawn in full.
    """

    def __init__(self, width: int, height: int, *, colourless: bool = False) -> None:
        self._tokens = Tokeniser()
        self._shadow = Shadow(width, height)
        self._pen = Pen()
        self._colourless = colourless
        self._place: tuple[int, int] | None = None
        self._style = PLAIN
        self._link = ""
        self._ink = PLAIN
        self._held = False
        self._synchronised = False
        self._changed: set[tuple[int, int]] = set()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that cells are known for."""
        return self._shadow.width, self._shadow.height

    def resize(self, width: int, height: int) -> None:
        """The screen has another size; nothing is known of it."""
        self._shadow = Shadow(width, height)
        self.forget()

    def forget(self) -> None:
        """The terminal may show anything; the next frame is drawn in full."""
        self._shadow.forget()
        self._pen.forget()
        self._changed.clear()

    def feed(self, data: str) -> str:
        """What to send for this data; empty where nothing changed or a synchronised frame is not complete."""
        for token in self._tokens.feed(data):
            self._take(token)
        return "" if self._held else self._finished()

    def _take(self, token: Token) -> None:
        match token.kind:
            case Kind.TEXT:
                self._write(token.value)
            case Kind.STYLE:
                self._style = applied(self._style, token.value)
                self._ink = self._inked()
            case Kind.LINK:
                self._link = "" if token.value.endswith(";") else token.value
                self._ink = self._inked()
            case Kind.MOVE:
                self._move(token)
            case Kind.SYNC_START:
                self._held = self._synchronised = True
            case Kind.SYNC_END:
                self._held = False
            case Kind.NEUTRAL:
                if token.raw.endswith("n"):  # asks where the cursor is
                    self._settle()
                self._pen.pass_on(token.raw)
            case Kind.OTHER:
                self._pass_on(token.raw)

    def _write(self, text: str) -> None:
        cells = cells_of(text, self._ink)
        if self._place is None or not self._shadow.holds(*self._place, cells):
            self._write_unfollowed(text)
            return
        x, y = self._place
        row = self._shadow.rows[y]
        end = x + len(cells)
        if row[x:end] != cells:
            for column, cell in enumerate(cells, x):
                if row[column] != cell and cell is not CONTINUATION:
                    self._change(column, y, cell)
        self._place = (end, y)

    def _change(self, x: int, y: int, cell: Cell) -> None:
        if self._shadow.would_halve(x, y, cell):
            self._draw_changes()
        self._shadow.put(x, y, cell)
        self._changed.add((y, x))

    def _draw_changes(self) -> None:
        """Write the cells that changed, by place or by style, whichever is shorter: a colour costs more than a move."""
        if not self._changed:
            return
        rows = self._shadow.rows
        cells = [(x, y, cell) for y, x in sorted(self._changed) if (cell := rows[y][x]) is not None and cell.width]
        self._changed.clear()
        if len(cells) <= MOST_SORTED:
            self._pen.write_shorter(self._shadow, cells, sorted(cells, key=lambda each: each[2].style))
        else:
            self._pen.write_all(self._shadow, cells)

    def _write_unfollowed(self, text: str) -> None:
        """Text past the edge, or at an unknown place: the terminal decides where it goes."""
        if self._place is not None:
            self._settle()
            self._shadow.forget_row(self._place[1])
        else:
            self._draw_changes()
            self._shadow.forget()
        self._pen.take_style(self._ink)
        self._pen.pass_on(text)
        self._pen.position = self._place = None

    def _move(self, token: Token) -> None:
        if token.value == "n" and self._place is not None and self._place[1] + 1 >= self._shadow.height:
            self._pass_on(token.raw)  # the screen scrolls
            return
        if self._place is not None and self._place[0] >= self._shadow.width and token.value[0] in "ABCDEFG`db":
            self._settle()  # how a cursor leaves the edge differs between terminals
            self._pen.position = self._place = None
        place = moved(self._place, token.value, self._shadow.width, self._shadow.height)
        if place is None:
            self._draw_changes()
            self._pen.pass_on(token.raw)
        self._place = place

    def _pass_on(self, raw: str) -> None:
        self._settle()
        self._pen.take_style(self._ink)
        self._pen.pass_on(raw)
        self.forget()
        self._place = None

    def _settle(self) -> None:
        """Write what has changed and put the real cursor where the application believes it to be."""
        self._draw_changes()
        if self._place is None:
            return
        x, y = self._place
        if x < self._shadow.width:
            self._pen.move(self._shadow, x, y)
        elif (last := self._shadow.last_character(y)) is not None:
            # Only writing the last cell leaves the cursor behind the edge.
            self._pen.write(self._shadow, *last)

    def _finished(self) -> str:
        self._draw_changes()
        if self._place is not None and self._place[0] < self._shadow.width:
            self._settle()
        output, synchronised = self._pen.take(), self._synchronised
        self._synchronised = False
        return f"{SYNC_START}{output}{SYNC_END}" if synchronised and len(output) >= LEAST_SYNCHRONISED else output

    def _inked(self) -> TerminalStyle:
        style = without_colours(self._style) if self._colourless else self._style
        return style._replace(link=self._link)


def moved(place: tuple[int, int] | None, move: str, width: int, height: int) -> tuple[int, int] | None:
    """Where a cursor move leads, clamped to the screen; `None` where it starts from a place that is not known.

    `move` is the final letter of the sequence and its numbers, or `r`, `n`, `b` for return, line feed and backspace.
    A line feed also returns, as the terminal line does it (`ONLCR`).
    """
    numbers = [int(number or 1) for number in move[1:].split(";")]
    first = max(1, numbers[0])
    if move[0] in "Hf":
        x, y = (numbers[1] if len(numbers) > 1 else 1) - 1, first - 1
    elif place is None:
        return None
    else:
        x, y = place
        steps = {"A": (x, y - first), "B": (x, y + first), "C": (x + first, y), "D": (x - first, y)}
        steps |= {"E": (0, y + first), "F": (0, y - first), "G": (first - 1, y), "`": (first - 1, y)}
        steps |= {"d": (x, first - 1), "r": (0, y), "n": (0, y + 1), "b": (x - 1, y)}
        x, y = steps[move[0]]
    return min(max(x, 0), width - 1), min(max(y, 0), height - 1)
