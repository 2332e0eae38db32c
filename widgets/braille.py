"""History charts of characters: two readings and four levels to a Braille cell, or one and eight to a block."""

from collections.abc import Sequence
from functools import lru_cache

from widgets.glyphs import ascii_only

_LEFT = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0x00, 0x80, 0xA0, 0xB0, 0xB8)
"""Dots of a Braille cell filled from below, Unicode 15.1 chapter 21.1."""

_ASCII = " .:|#"


def readings_per_cell() -> int:
    """How many readings share a column of cells."""
    return 1 if ascii_only() else 2


def columns(readings: Sequence[float | None], height: int, top: float) -> list[str]:
    """One string for each row, from above, in which the readings stand side by side.

    Args:
        readings: From 0 to `top`, oldest first; `None` leaves a gap, and a reading above 0 shows at least one dot.
        height: Rows.
        top: The reading that fills all rows.
    """
    levels = [_level(reading, height * 4, top) for reading in readings]
    step = readings_per_cell()
    if len(levels) % step:
        levels.insert(0, 0)
    groups = [tuple(levels[index : index + step]) for index in range(0, len(levels), step)]
    return ["".join(_cell(group, (height - 1 - y) * 4) for group in groups) for y in range(height)]


def _level(reading: float | None, most: int, top: float) -> int:
    if reading is None or reading <= 0 or top <= 0:
        return 0
    return max(1, min(most, round(reading / top * most)))


@lru_cache(4096)
def _cell(levels: tuple[int, ...], floor: int) -> str:
    dots = [min(4, max(0, level - floor)) for level in levels]
    if len(dots) == 1:
        return _ASCII[dots[0]]
    return chr(0x2800 + _LEFT[dots[0]] + _RIGHT[dots[1]]) if any(dots) else " "
