"""What an application writes to a terminal, split into text, styles, cursor moves, links and the rest.

Sources: ECMA-48 (control sequences), xterm's ctlseqs (OSC, private modes), the OSC 8 link notation.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What a token does to the screen."""

    TEXT = auto()
    STYLE = auto()
    """SGR; `value` holds its parameters."""
    LINK = auto()
    """OSC 8; `value` holds `parameters;address`, `;` alone ends a link."""
    MOVE = auto()
    """A cursor move; `value` holds the final letter and its numbers."""
    NEUTRAL = auto()
    """Changes neither cells nor cursor nor style: modes, queries, clipboard, bell, cursor shape, keyboard protocol."""
    SYNC_START = auto()
    SYNC_END = auto()
    OTHER = auto()
    """Anything else: it may have changed the whole screen."""


class Token(NamedTuple):
    """A piece of the stream. `raw` is what was written."""

    kind: Kind
    raw: str
    value: str = ""


_TOKEN = re.compile(
    r"""(?P<text>[^\x00-\x1f\x7f-\x9f]+)
    |\x1b\[(?P<style>[0-9;:]*)m
    |\x1b\[(?P<numbers>[0-9;]*)(?P<move>[ABCDEFGHdf`])
    |(?P<control>[\r\n\b])
    |\x1b\]8;(?P<link>[^\x07\x1b]*)(?:\x07|\x1b\\)
    |(?P<sync>\x1b\[\?2026[hl])
    |(?P<neutral>\x1b\[\?(?!(?:3|6|47|104[789])[hl])[0-9]+[hl]                # private modes that touch no cell
        |\x1b\[\?[0-9]+\$p|\x1b\[[0-9;]*[nc]|\x1b\[[>=][0-9;]*[cq]            # queries
        |\x1b\[[<>=?][0-9;]*u|\x1b\[[0-9]*\ q|\x07                            # keyboard protocol, cursor shape, bell
        |\x1b\](?!8;)[^\x07\x1b]*(?:\x07|\x1b\\))                             # clipboard, title, colours
    |(?P<other>\x1b\[[0-?]*[ -/]*[@-~]|\x1b[PX^_][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b[ -/]*[0-OQ-WYZ`-~\\]
        |[\x00-\x1a\x1c-\x1f\x7f-\x9f])""",
    re.VERBOSE,
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)")
_KINDS = {"text": Kind.TEXT, "style": Kind.STYLE, "link": Kind.LINK, "neutral": Kind.NEUTRAL, "other": Kind.OTHER}
_CONTROLS = {"\r": "r", "\n": "n", "\b": "b"}
LONGEST_UNFINISHED = 1 << 20
"""Characters of a sequence that may wait for their end (a clipboard write is long); beyond it they pass as they are."""


class Tokeniser:
    """Splits a stream; a sequence whose end has not been written yet waits for it."""

    def __init__(self) -> None:
        self._unfinished = ""

    def feed(self, data: str) -> Iterator[Token]:
        """Tokens that are complete with this data."""
        data = self._unfinished + data
        self._unfinished = ""
        position = 0
        while position < len(data):
            match = _TOKEN.match(data, position)
            if match is not None:
                position = match.end()
                yield _token(match)
            elif len(data) - position <= LONGEST_UNFINISHED and _UNFINISHED.fullmatch(data, position):
                self._unfinished = data[position:]
                return
            else:
                yield Token(Kind.OTHER, data[position])
                position += 1


def _token(match: re.Match[str]) -> Token:
    name, raw = match.lastgroup, match.group()
    if name == "move":
        return Token(Kind.MOVE, raw, match["move"] + match["numbers"])
    if name == "control":
        return Token(Kind.MOVE, raw, _CONTROLS[raw])
    if name == "sync":
        return Token(Kind.SYNC_START if raw.endswith("h") else Kind.SYNC_END, raw)
    assert name is not None
    return Token(_KINDS[name], raw, match[name])
