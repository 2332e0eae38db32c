"""Text as terminal cells."""

import re
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from widgets.glyphs import ascii_only, plain_signs
from widgets.terminal.style import TerminalStyle, on_blank


class Cell(NamedTuple):
    """One character with its marks, as a terminal holds it."""

    text: str
    style: TerminalStyle
    width: int = 1
    certain: bool = True
    """Whether every terminal gives it the same width; after an uncertain one the cursor is placed afresh."""


CONTINUATION = Cell("", TerminalStyle(), 0)
"""The second cell of a wide character."""

_SIMPLE = re.compile("[ -~\xa0-\xac\xae-\u02ff\u2010-\u2027\u2500-\u259f\u2800-\u28ff]*")
"""Latin, dashes, lines, blocks and Braille: each takes one cell and joins with none before it."""


class _CellsOfStyle(dict[str, Cell]):
    """Simple characters in one style. Each cell is made once, for runs of text come and go with every figure."""

    def __init__(self, style: TerminalStyle) -> None:
        super().__init__()
        self._style = style

    def __missing__(self, character: str) -> Cell:
        cell = self[character] = Cell(character, on_blank(self._style) if character == " " else self._style)
        return cell


_cells_of_style = lru_cache(512)(_CellsOfStyle)


@lru_cache(512)
def cells_of(text: str, style: TerminalStyle) -> list[Cell]:
    """The cells that a run of text fills. The list is shared: do not change it."""
    if ascii_only():
        text = plain_signs(text)
    if _SIMPLE.fullmatch(text):
        cells = _cells_of_style(style)
        return [cells[character] for character in text]
    return _joined_cells(text, style)


def _joined_cells(text: str, style: TerminalStyle) -> list[Cell]:
    cells: list[Cell] = []
    for character in text:
        width = cell_len(character)
        joins = width == 0 or (cells and cells[-1].text.endswith("\u200d"))
        if joins and cells:
            place = -2 if cells[-1] is CONTINUATION else -1
            cells[place] = cells[place]._replace(text=cells[place].text + character, certain=False)
        elif joins:
            cells.append(Cell(character, style, 0, certain=False))
        else:
            shown = on_blank(style) if character == " " else style
            cells.append(Cell(character, shown, width, certain=_is_certain(character)))
            if width == 2:
                cells.append(CONTINUATION)
    return cells


def _is_certain(character: str) -> bool:
    """Whether all terminals agree on the width: simple characters, Greek, Cyrillic, CJK ideographs and Hangul."""
    code = ord(character)
    return (
        _SIMPLE.fullmatch(character) is not None
        or 0x0370 <= code < 0x0530
        or 0x4E00 <= code <= 0x9FFF
        or 0xAC00 <= code <= 0xD7A3
    )
