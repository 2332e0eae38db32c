"""The first line of every screen: where this is, and whether the engine lives."""

from textual.content import Content

from widgets.line import Line, aligned
from widgets.pane import Pane


class TitleBar(Pane[tuple[str, str, str]]):
    """Draws (title, state in words, style of the state)."""

    DEFAULT_CSS = "TitleBar { height: 1; background: $panel; }"

    def lines(self, width: int, height: int) -> list[Line]:
        """Title at the left, state at the right."""
        if self.record is None:
            return [""]
        title, state, style = self.record
        left = Content.assemble((" Alula ", "bold $accent"), (title, "bold"))
        right = Content.assemble((state, style), " ")
        return [aligned(left, max(0, width - right.cell_length)) + right]
