"""One line of text to one strip of cells: styled, cut or filled to its width, and harmless whatever it came from."""

import re
from functools import lru_cache
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual._context import active_app
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from state.outside_text import plain_line

Line: TypeAlias = str | Content | Strip
"""What a widget gives for a row. `Content.assemble(("text", "bold $error"), ...)` carries styles by name; it is never
built with `Content.from_markup` from text that came from outside. A `Strip` is drawn as it is."""

_VARIABLE = re.compile(r"\$([\w-]+)")


def plain(text: Line) -> str:
    """The characters of a line, without styles."""
    return text if isinstance(text, str) else text.plain if isinstance(text, Content) else text.text


def same(old: Line, new: Line) -> bool:
    """Whether two lines draw the same cells. `Content` compares equal by text alone, so that is not enough."""
    if old is new:
        return True
    if isinstance(old, Content):
        return isinstance(new, Content) and old.is_same(new)
    return type(old) is type(new) and old == new


def harmless(line: str | Content) -> Content:
    """The line without control and direction-changing characters; styles are kept where nothing had to go."""
    text = plain(line)
    if text.isprintable():
        return line if isinstance(line, Content) else Content(text, strip_control_codes=False)
    cleaned = plain_line(text)
    if isinstance(line, Content) and len(cleaned) == len(text):
        return Content(cleaned, line.spans, strip_control_codes=False)  # type: ignore[arg-type]
    return Content(cleaned, strip_control_codes=False)


def to_strip(line: Line, width: int, base: Style) -> Strip:
    """Draw a line in exactly `width` cells over the style `base`. A line that is too long ends in `…`."""
    if isinstance(line, Strip):
        return line.adjust_cell_length(width, _rich(base, ""))
    content = harmless(line)
    if content.cell_length > width:
        content = cut(content, width)
    segments = [Segment(text, _rich(base, style)) for text, style in _pieces(content)]
    return Strip(segments, content.cell_length).adjust_cell_length(width, _rich(base, ""))


def cut(content: Content, width: int) -> Content:
    """The line in at most `width` cells, the last of them `…` where something was left out."""
    return content if content.cell_length <= width else content.truncate(width, ellipsis=width > 1)


def aligned(line: str | Content, width: int, align: str = "left") -> Content:
    """The line in exactly `width` cells, at the left or the right."""
    content = cut(harmless(line), width)
    missing = width - content.cell_length
    return content.pad_left(missing) if align == "right" else content.pad_right(missing)


def parsed(style: str) -> Style:
    """A style by name in the present theme: `bold $text-muted on $surface`.

    Textual 8.2.8, markup.py `parse_style`, drops the strength of a variable such as `$text-muted` (`auto 60%`), so
    variables are put in here.
    """
    variables = active_app.get().theme_variables
    return Style.parse(_VARIABLE.sub(lambda match: variables.get(match[1], match[0]), style))


def forget_styles() -> None:
    """Drop what named styles resolved to; the theme has changed."""
    _rich.cache_clear()


def _pieces(content: Content) -> list[tuple[str, "str | Style"]]:
    """The text in runs of one style. Overlapping spans are the only case that needs Textual's full render."""
    text, end = content.plain, 0
    pieces: list[tuple[str, str | Style]] = []
    for start, stop, style in content.spans:
        if start < end:
            return [(run, style) for run, style in content.render(Style(), end="") if run]
        if start > end:
            pieces.append((text[end:start], ""))
        pieces.append((text[start:stop], style))
        end = stop
    if end < len(text):
        pieces.append((text[end:], ""))
    return pieces


@lru_cache(4096)
def _rich(base: Style, style: "str | Style") -> RichStyle:
    over = style if isinstance(style, Style) else parsed(style) if style else Style()
    return (base + over).rich_style
