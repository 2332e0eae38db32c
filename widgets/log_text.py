"""A line of a log as it is shown: its colours kept, all else that a terminal would obey taken out."""

import re
from functools import lru_cache

from rich.ansi import AnsiDecoder
from rich.color import Color as RichColor
from textual.color import Color
from textual.content import Content, Span
from textual.style import Style

from state.outside_text import plain_text

LONGEST_LINE = 4_000
"""Characters that are shown of a line; a line of base64 or of a tensor can have millions."""
ERROR_WORDS = (
    "error", "exception", "traceback", "fatal", "panic", "out of memory", "killed", "core dumped", "segfault",
)  # fmt: skip
"""What a line that matters usually holds, in any case of letters."""

_COLOUR = re.compile(r"\x1b\[([\d;:]*)m")


def newest_state(line: str) -> str:
    """What a terminal shows after carriage returns, as a progress bar uses them: the last text that is not blank."""
    line = line.rstrip("\r")
    if "\r" not in line:
        return line
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def plain_log_line(line: str) -> str:
    """A line without colours: what is searched."""
    return _one_line(plain_text(newest_state(line)))


def is_error(plain: str) -> bool:
    """Whether a line looks as if something went wrong."""
    lowered = plain.lower()
    return any(word in lowered for word in ERROR_WORDS)


def styled_log_line(line: str) -> Content:
    """A line with the colours that its program gave it: hidden and blinking text is shown as any other."""
    shown = newest_state(line)[: LONGEST_LINE * 8]
    if "\x1b[" not in shown:
        return Content(_cut(_one_line(plain_text(shown))), strip_control_codes=False)
    pieces = _COLOUR.split(shown)
    cleaned = [_one_line(plain_text(text)) for text in pieces[::2]]
    codes = pieces[1::2]
    spans, style, place, decoder = [], Style(), len(cleaned[0]), AnsiDecoder()
    for code, text in zip(codes, cleaned[1:], strict=True):
        style = _after(decoder, code)
        if text and style != Style():
            spans.append(Span(place, place + len(text), style))
        place += len(text)
    content = Content("".join(cleaned), spans, strip_control_codes=False)
    return content if len(content) <= LONGEST_LINE else content[: LONGEST_LINE - 1].append("…")


def _after(decoder: AnsiDecoder, code: str) -> Style:
    decoder.decode_line(f"\x1b[{code}m")
    found = decoder.style
    return Style(
        background=_colour(found.bgcolor), foreground=_colour(found.color), bold=found.bold, dim=found.dim,
        italic=found.italic, underline=found.underline, reverse=found.reverse, strike=found.strike,
    )  # fmt: skip


@lru_cache(512)
def _colour(colour: RichColor | None) -> Color | None:
    return None if colour is None or colour.is_default else Color.from_rich_color(colour)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", "    ")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
