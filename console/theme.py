"""The two themes: Textual's, with colours that can be read as text (4.5:1 on page, title and footer)."""

from dataclasses import replace

from textual.theme import BUILTIN_THEMES

DARK = replace(BUILTIN_THEMES["textual-dark"], name="alula-dark", error="#f07a94")
LIGHT = replace(
    BUILTIN_THEMES["textual-light"],
    name="alula-light",
    accent="#7a4a00",
    warning="#7a4a00",
    success="#176130",
    error="#a3203f",
)
