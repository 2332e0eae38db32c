"""The last line of every screen: the keys that do something now."""

from textual.content import Content

from widgets.line import Line
from widgets.pane import Pane

Keys = tuple[tuple[str, str], ...]


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
        drawn = Content(" ")
        for key, label in keys:
            piece = Content.assemble((key, "bold $accent"), f" {label}   ")
            if drawn.cell_length + len(key) + len(label) + 1 > width:
                break
            drawn += piece
        return [drawn]
