"""Says what will happen, and asks once."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from widgets.line import harmless


class Confirmation(ModalScreen[bool]):
    """Returns whether it was confirmed. Escape and `n` refuse; Enter presses the button that has the focus."""

    DEFAULT_CSS = """
    Confirmation {
        align: center middle;
        & > Vertical {
            width: 72; max-width: 100%; height: auto; max-height: 100%; overflow-y: auto;
            border: round $warning; background: $surface; padding: 0 1;
        }
        & .consequences { margin: 1 0; }
        & Horizontal { height: 3; align-horizontal: right; }
        & Button { margin-left: 2; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "No", show=False),
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("left,right", "app.focus_next", "Other button", show=False),
    ]

    def __init__(
        self, question: str, consequences: list[str], *, confirm: str = "Yes", refuse: str = "No", danger: bool = False
    ) -> None:
        """Make the question.

        Args:
            question: What is asked, by name: `Stop job 12, regen-kimi?`
            consequences: What will happen, a line each: host, processes, what is lost, what is kept.
            confirm: The button that does it.
            refuse: The button that does not.
            danger: Whether work is lost; then the focus starts on the button that refuses.
        """
        super().__init__()
        self._question = question
        self._consequences = consequences
        self._labels = (confirm, refuse)
        self._danger = danger

    def compose(self) -> ComposeResult:
        """The question, what follows from it, two buttons."""
        with Vertical():
            yield Static(harmless(self._question).stylize("bold"))
            lines = [harmless(line) for line in self._consequences]
            yield Static(Content("\n").join(lines), classes="consequences")
            with Horizontal():
                confirm, refuse = self._labels
                yield Button(Content(f"{confirm} (y)"), variant="error" if self._danger else "primary", id="confirm")
                yield Button(Content(f"{refuse} (n)"), id="refuse")

    def on_mount(self) -> None:
        """Start on the safe button where work can be lost."""
        self.query_one("#refuse" if self._danger else "#confirm", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.button.id == "confirm")

    def action_answer(self, confirmed: bool) -> None:
        """Answer by a key."""
        self.dismiss(confirmed)
