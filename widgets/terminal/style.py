"""The style that a terminal writes with, and the shortest sequence from one style to another.

Source: ECMA-48 8.3.117 (SGR) with the colour forms of ISO 8613-6 and xterm.
"""

from functools import lru_cache
from typing import NamedTuple

RESET = "0"
_ENDED_BY: dict[str, tuple[str, ...]] = {
    "22": ("1", "2"), "23": ("3", "20"), "24": ("4", "21"), "25": ("5", "6"), "27": ("7",), "28": ("8",), "29": ("9",),
    "54": ("51", "52"), "55": ("53",),
}  # fmt: skip
_ENDS = {attribute: end for end, attributes in _ENDED_BY.items() for attribute in attributes}
_COLOUR_FIELDS = {"38": "foreground", "48": "background", "58": "line_colour"}
_DEFAULTS = {"39": "foreground", "49": "background", "59": "line_colour"}
_SHOWS_ON_BLANK = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""Attributes that can be seen on a space: lines under, through and over it, reverse, frame."""


class TerminalStyle(NamedTuple):
    """SGR parameters in effect. An empty string is the terminal's default."""

    attributes: tuple[str, ...] = ()
    foreground: str = ""
    background: str = ""
    line_colour: str = ""
    link: str = ""
    """What OSC 8 holds: `parameters;address`."""


PLAIN = TerminalStyle()


@lru_cache(8192)
def applied(style: TerminalStyle, parameters: str) -> TerminalStyle:
    """The style after an SGR sequence with these parameters."""
    codes = parameters.split(";") if parameters else [RESET]
    index = 0
    while index < len(codes):
        code = codes[index].lstrip("0") or RESET
        if code in _COLOUR_FIELDS:
            length = {"2": 5, "5": 3}.get("".join(codes[index + 1 : index + 2]), 1)
            style = _coloured(style, _COLOUR_FIELDS[code], ";".join(codes[index : index + length]))
            index += length
            continue
        style = _with_code(style, code)
        index += 1
    return style


@lru_cache(8192)
def on_blank(style: TerminalStyle) -> TerminalStyle:
    """The style as far as it can be seen on a space, so that blanks of one background are equal."""
    if any(code in _SHOWS_ON_BLANK or ":" in code for code in style.attributes):
        return style
    return TerminalStyle(background=style.background, link=style.link)


@lru_cache(8192)
def without_colours(style: TerminalStyle) -> TerminalStyle:
    """The style in the terminal's own two colours; attributes stay."""
    return style._replace(foreground="", background="", line_colour="")


@lru_cache(16384)
def transition(old: TerminalStyle | None, new: TerminalStyle) -> str:
    """The shortest SGR sequence that leads from `old` (`None`: unknown) to `new`; links are not its matter."""
    afresh = ";".join([RESET, *_set_codes(new)])
    codes = None if old is None else _changes(old, new)
    if codes is None or len(afresh) < len(codes):
        codes = afresh
    return f"\x1b[{'' if codes == RESET else codes}m" if codes else ""


def _with_code(style: TerminalStyle, code: str) -> TerminalStyle:
    if code == RESET:
        return TerminalStyle(link=style.link)
    if code in _DEFAULTS:
        return _coloured(style, _DEFAULTS[code], "")
    field, _, form = code.partition(":")
    if form and field in _COLOUR_FIELDS:
        return _coloured(style, _COLOUR_FIELDS[field], code)
    if code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97):
        return style._replace(foreground=code)
    if code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107):
        return style._replace(background=code)
    ended = _ENDED_BY.get("24" if code == "4:0" else code)
    if ended is not None:
        return style._replace(attributes=tuple(a for a in style.attributes if a.partition(":")[0] not in ended))
    return style._replace(attributes=tuple(sorted({*style.attributes, code})))


def _coloured(style: TerminalStyle, field: str, colour: str) -> TerminalStyle:
    match field:
        case "foreground":
            return style._replace(foreground=colour)
        case "background":
            return style._replace(background=colour)
        case _:
            return style._replace(line_colour=colour)


def _set_codes(style: TerminalStyle) -> list[str]:
    return [code for code in (*style.attributes, style.foreground, style.background, style.line_colour) if code]


def _changes(old: TerminalStyle, new: TerminalStyle) -> str | None:
    """Codes that change only what differs; `None` where that needs a reset."""
    gone = set(old.attributes) - set(new.attributes)
    kept = [a for a in old.attributes if a in new.attributes]
    ends = {_ENDS.get(attribute.partition(":")[0]) for attribute in gone}
    if None in ends:
        return None
    codes = sorted(end for end in ends if end)
    lost = {a for a in kept if _ENDS.get(a.partition(":")[0]) in ends}
    codes += [a for a in new.attributes if a not in old.attributes or a in lost]
    for before, after, default in (
        (old.foreground, new.foreground, "39"),
        (old.background, new.background, "49"),
        (old.line_colour, new.line_colour, "59"),
    ):
        if before != after:
            codes.append(after or default)
    return ";".join(codes)
