"""One line of a form: a name and what is typed or chosen for it."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Select, Static

UNSET = "–"


class FormLine(Horizontal):
    """Says `Changed` whenever its text is another one; knows nothing of what the text means."""

    DEFAULT_CSS = """
    FormLine {
        height: 1;
        & > .label { width: 19; color: $text-muted; }
        &.wrong > .label { color: $error; }
        &:focus-within > .label { color: $accent; text-style: bold; }
        & Input { height: 1; border: none; padding: 0 1; background: $boost; width: 1fr; }
        & Input:focus { background: $primary 30%; }
        & Select { width: 1fr; height: 1; }
    }
    """

    class Changed(Message):
        """The text of a line is another one."""

    class Reached(Message):
        """A line has got the focus."""

        def __init__(self, line: "FormLine") -> None:
            super().__init__()
            self.line = line

    def __init__(
        self, key: str, label: str, text: str, *, choices: Sequence[str] = (), optional: bool = True, hint: str = ""
    ) -> None:
        """A line; with choices one of them is chosen, else anything is typed."""
        super().__init__(id=f"line-{key}")
        self.key = key
        self.text = text
        self._label = label
        self._choices = tuple(choices)
        self._optional = optional
        self._hint = hint

    def compose(self) -> ComposeResult:
        """Label and entry."""
        yield Static(Content(self._label), classes="label", markup=False)
        if self._choices:
            names = ((UNSET, ""),) if self._optional else ()
            options = (*names, *((choice, choice) for choice in self._choices))
            first = self.text if self.text in ("", *self._choices) else ""
            yield Select(options, value=first if self._optional or first else self._choices[0], allow_blank=False,
                         compact=True)  # fmt: skip
        else:
            yield Input(self.text, placeholder=self._hint, compact=True, select_on_focus=False)

    def set_text(self, text: str) -> None:
        """Put another text into an entry that is typed."""
        self.query_one(Input).value = text

    def focus_entry(self) -> None:
        """The keys go here."""
        self.query_one("Input, Select").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what was typed."""
        event.stop()
        self._take(event.value)

    def on_select_changed(self, event: "Select.Changed") -> None:
        """Keep what was chosen."""
        event.stop()
        self._take(str(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go on to the next line."""
        event.stop()
        self.screen.focus_next("FormLine Input, FormLine Select")

    def on_descendant_focus(self) -> None:
        """Tell which line has the focus."""
        self.post_message(self.Reached(self))

    def _take(self, text: str) -> None:
        if text != self.text:
            self.text = text
            self.post_message(self.Changed())
