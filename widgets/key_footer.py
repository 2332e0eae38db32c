"""The last line of every screen: the keys that do something now."""

from textual.content import Content

from widgets.line import Line
from widgets.pane import Pane

Keys = tuple[tuple[str, str], ...]
GAP = "   "
NEVER_LEFT_OUT = ("Esc", "?")


class KeyFooter(Pane[tuple[Keys, str]]):
    """Draws keys with their labels, as many as fit, or a message in their place."""

    DEFAULT_CSS = "KeyFooter { height: 1; background: $panel; dock: bottom; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """The keys; the message, where there is one."""
        if self.record is None:
            return [""]
        keys, message = self.record
        if message:
            return [Content.assemble((f" {message}", "bold $warning"))]
        fitting = fit_keys(keys, width - 2)
        pieces = [Content.assemble((key, "bold $accent"), f" {label}") for key, label in fitting]
        return [Content(" ") + Content(GAP).join(pieces)]


def fit_keys(keys: Keys, width: int) -> Keys:
    """As many as have room, in their order; the way back and the help, which has all of them, go last."""
    first = [key for key in keys if key[0] in NEVER_LEFT_OUT]
    kept: list[tuple[str, str]] = []
    left = width
    for key in (*first, *(key for key in keys if key not in first)):
        left -= len(key[0]) + 1 + len(key[1]) + (len(GAP) if kept else 0)
        if left < 0:
            break
        kept.append(key)
    return tuple(key for key in keys if key in kept)
