"""Characters of the frame, with plain ASCII ones for terminals and fonts that have no others.

None of them is of East Asian ambiguous width except blocks and lines, which terminals draw one cell wide.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One character for each mark."""

    ascending: str
    descending: str
    thumb: str
    full: str
    track: str
    horizontal: str


_UNICODE = Glyphs(ascending="▴", descending="▾", thumb="▐", full="█", track="░", horizontal="─")
_ASCII = Glyphs(ascending="^", descending="v", thumb="|", full="#", track=".", horizontal="-")
_SIGNS = str.maketrans(
    "✗✓–—…·•×→←↑↓▴▾▸▶│┃─━═┌┐└┘├┤┬┴┼╭╮╰╯╴╶╵╷▔▁▏▎▍▌▋▊▉▐█░▒▓",
    "x+--..*x><^v^v>>||--=+++++++++++++--||-_||||||||#.:#",
)


def ascii_only() -> bool:
    """Whether to draw with ASCII alone: `ALULA_ASCII=1`, or a Linux console, whose fonts have no Braille."""
    asked = os.environ.get("ALULA_ASCII")
    return asked == "1" if asked else os.environ.get("TERM") == "linux"


def plain_signs(text: str) -> str:
    """Text of the frame and its marks in ASCII; each sign keeps its one cell. Other text is as it was."""
    return text.translate(_SIGNS)


def glyphs() -> Glyphs:
    """The set to draw with."""
    return _ASCII if ascii_only() else _UNICODE
