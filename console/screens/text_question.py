"""Asks for one line of text."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from widgets.line import harmless


class TextQuestion(ModalScreen[str]):
    """Returns the text, or `None` after Escape."""

    DEFAULT_CSS = """
    TextQuestion {
        align: center middle;
        & > Vertical { width: 60; max-width: 100%; height: auto; border: round $primary; background: $surface;
            padding: 0 1; }
        & Input { height: 1; border: none; background: $boost; padding: 0 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Back", show=False)]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        """The question and its line."""
        frame = Vertical()
        frame.border_subtitle = "Enter: take it   Esc: back"
        with frame:
            yield Static(harmless(self._question).stylize("bold"))
            yield Input(self._text, compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return it."""
        self.dismiss(event.value.strip())
