"""Choose one of the servers that run here, or one that is watched elsewhere."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from state.outside_text import plain_line


class Choice(msgspec.Struct, frozen=True):
    """A server that can be checked."""

    subject: str
    """What the checker is asked: a process id or a URL."""
    text: str


class ServerChoice(ModalScreen[str]):
    """Returns a process id or a URL, or `None` after Escape."""

    DEFAULT_CSS = """
    ServerChoice {
        align: center middle;
        & > Vertical {
            width: 90%; max-width: 110; height: auto; max-height: 80%;
            border: round $primary; background: $surface; padding: 0 1;
        }
        & OptionList { height: auto; max-height: 20; border: none; background: $surface; padding: 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False)]

    def __init__(self, watched: Sequence[Choice]) -> None:
        super().__init__()
        self._choices = list(watched)

    def compose(self) -> ComposeResult:
        """A line and the list."""
        frame = Vertical()
        frame.border_subtitle = "Enter: check it   Esc: back"
        with frame:
            yield Static("looking at the processes of this host ...", id="told", markup=False)
            yield OptionList(*(Option(Content(one.text), id=one.subject) for one in self._choices))

    def on_mount(self) -> None:
        """Look for processes off the event loop."""
        self.query_one(OptionList).focus()
        self.run_worker(self._look())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return it."""
        self.dismiss(event.option.id)

    async def _look(self) -> None:
        found = await asyncio.to_thread(running)
        options = self.query_one(OptionList)
        options.add_options([Option(Content(one.text), id=one.subject) for one in found])
        count = len(found) + len(self._choices)
        told = f"{count} to choose from" if count else "No server runs here under this account"
        self.query_one("#told", Static).update(told)
        if count and options.highlighted is None:
            options.highlighted = 0


def running() -> list[Choice]:
    """Server processes of this host that this account may read."""
    from engine.check.collect import setting
    from engine.check.sources.processes import running_servers

    choices = []
    for launch in running_servers():
        model = setting(launch, "--model-path") or setting(launch, "--model") or "a model"
        algorithm = setting(launch, "--speculative-algorithm") or "no speculation"
        port = setting(launch, "--port") or "its usual port"
        text = f"pid {launch.pid}  {launch.framework}  {model}  {algorithm}  port {port}"
        choices.append(Choice(str(launch.pid), plain_line(text, 200)))
    return choices
