"""Asks for one of a few things, and says what will become of it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from widgets.line import harmless


class OneOf(ModalScreen[int]):
    """Returns the place of what was chosen, or `None` after Escape."""

    DEFAULT_CSS = """
    OneOf {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 110; height: auto; max-height: 80%;
            border: round $primary; background: $surface; padding: 0 1;
        }
        & OptionList {
            height: auto; max-height: 20; border: none; background: $surface; padding: 0;
            &:focus { border: none; }
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False)]

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        super().__init__()
        self._question = question
        self._choices = choices

    def compose(self) -> ComposeResult:
        """The question and the list."""
        frame = Vertical()
        frame.border_subtitle = "Enter: do it   Esc: back"
        with frame:
            yield Static(harmless(self._question).stylize("bold"))
            yield OptionList(*(Option(harmless(text)) for text in self._choices))

    def on_mount(self) -> None:
        """Start on the first."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return its place."""
        self.dismiss(event.option_index)
