"""What a terminal shows after a stream, by pyte, in a form in which equal looks are equal."""

import pyte

LineOfCells = list[tuple[str, ...]]


def terminal(width: int, height: int) -> pyte.Screen:
    screen = pyte.Screen(width, height)
    screen.set_mode(pyte.modes.LNM)  # a terminal line maps line feed to return and line feed
    screen.reset_mode(pyte.modes.DECAWM)
    return screen


def shown(screen: pyte.Screen) -> list[LineOfCells]:
    """Text and look of each cell; of a blank only what can be seen."""
    return [[_look(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)]


def _look(cell: pyte.screens.Char) -> tuple[str, ...]:
    back = "background-" + (cell.fg if cell.reverse else cell.bg)
    lines = [name for name in ("underscore", "strikethrough", "reverse") if getattr(cell, name)]
    if cell.data == " " and not lines:
        return (" ", back)
    weights = [name for name in ("bold", "italics", "blink") if getattr(cell, name)]
    return (cell.data, cell.fg, back, *lines, *weights)
