"""The light theme: Textual's, with colours dark enough to be read as text (4.5:1 on the title and the footer)."""

from dataclasses import replace

from textual.theme import BUILTIN_THEMES

DARK = "textual-dark"
LIGHT = replace(
    BUILTIN_THEMES["textual-light"],
    name="alula-light",
    accent="#7a4a00",
    warning="#7a4a00",
    success="#176130",
    error="#a3203f",
)
