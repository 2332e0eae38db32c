"""Prints styled lines with ANSI colours where the terminal wants them."""

import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from engine.check.report.styled import Line, Style
from widgets.glyphs import plain_signs

COLOURS: dict[Style, dict[str, Any]] = {
    "plain": {},
    "heading": {"bold": True},
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "info": {"fg": "cyan"},
    "good": {"fg": "green"},
    "dim": {"dim": True},
    "code": {},
}


def echo_lines(lines: Iterable[Line]) -> None:
    """Write lines to standard output: plain text for pipes and under NO_COLOR, ASCII signs without UTF-8."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    for spans in lines:
        text = "".join(click.style(span.text, **COLOURS[span.style]) if colour else span.text for span in spans)
        click.echo((plain_signs(text) if ascii_only else text).rstrip())
