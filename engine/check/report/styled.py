"""Lines of text with the meaning of each stretch, for whatever draws them. Colour never carries meaning alone."""

import textwrap
from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.check.records import Severity
from state.outside_text import plain_line

Style = Literal["plain", "heading", "error", "warning", "info", "good", "dim", "code"]
WIDTH = 76
SIGNS: dict[Severity, str] = {"error": "✗", "warning": "!", "info": "i"}


class Span(msgspec.Struct, frozen=True):
    """A stretch of one line."""

    text: str
    style: Style = "plain"


Line = tuple[Span, ...]


def line(*parts: Span | str) -> Line:
    """One line; bare text is plain."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def length(spans: Sequence[Span]) -> int:
    """Characters of a line."""
    return sum(len(span.text) for span in spans)


def wrapped(text: str, indent: int, first: str = "", style: Style = "plain") -> list[Line]:
    """Text from outside or from a rule, wrapped to the width; `first` stands in the indent of the first line."""
    pieces = textwrap.wrap(plain_line(text, 4000), WIDTH - indent, break_on_hyphens=False) or [""]
    return [line((first if index == 0 else "").ljust(indent), Span(piece, style)) for index, piece in enumerate(pieces)]
