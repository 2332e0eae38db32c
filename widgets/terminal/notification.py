"""A desktop notification through the terminal: OSC 9, as iTerm2, WezTerm, kitty and Windows Terminal know it."""

import os

from state.outside_text import plain_line

LONGEST = 200
DEAF = ("linux", "dumb", "vt100", "vt220", "")
"""Terminals that would print what they do not know."""


def notification(text: str) -> str:
    """The sequence to send; empty where the terminal is known not to take one.

    Through tmux it goes in a pass-through sequence, which `set -g allow-passthrough on` lets through; without that
    setting tmux drops it. A text that begins with a digit and `;` would be a progress report to some terminals.
    """
    if os.environ.get("TERM", "") in DEAF:
        return ""
    sequence = f"\x1b]9;Alula: {plain_line(text, LONGEST)}\x07"
    if os.environ.get("TMUX"):
        return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
    return sequence
