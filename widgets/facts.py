"""Facts about one thing: a name and a value in each line."""

from collections.abc import Sequence

from textual.content import Content

from widgets.line import Line
from widgets.pane import Pane

Fact = tuple[str, "str | Content"]
NAME_CELLS = 12


class Facts(Pane[tuple[Fact, ...]]):
    """Draws facts one below the other; a value that is too long is cut."""

    DEFAULT_CSS = "Facts { height: auto; }"

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """A line for each fact."""
        return [
            Content.assemble((f" {name:<{NAME_CELLS}} ", "$text-muted"))
            + (value if isinstance(value, Content) else Content(value))
            for name, value in self.record or ()
        ]
