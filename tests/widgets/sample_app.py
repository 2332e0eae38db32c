"""A small application with every kind of thing that Textual writes. `python -m tests.widgets.sample_app`"""

import sys
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Header, Input, Label, Sparkline, Static

from widgets.terminal.driver import DiffDriver, choose_driver
from widgets.terminal.notification import notification


class Question(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]
    CSS = "Question { align: center middle; } Label { border: round red; padding: 1 2; background: $surface; }"

    def compose(self) -> ComposeResult:
        yield Label("Really? 本当に？")


class SampleApp(App[None]):
    CSS = """
    Horizontal { height: 4; } DataTable { height: 1fr; }
    Sparkline { width: 1fr; } #text { height: 2; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("f2", "step", "Step"),
        ("f3", "ask", "Ask"),
        ("f4", "theme", "Theme"),
        ("f5", "copy", "Copy"),
        ("f6", "bell", "Bell"),
        ("f7", "call_out", "Call"),
        ("f10", "quit", "Quit"),
    ]

    def action_call_out(self) -> None:
        if isinstance(self._driver, DiffDriver):
            self._driver.call_out(notification("GPU 3 is \x1b[31mlost\x07"))

    def compose(self) -> ComposeResult:
        yield Header()
        with Horizontal():
            yield Sparkline([1, 5, 2, 8] * 10)
            yield Static(
                Content.assemble("e\u0301tude ", ("宽字符", "bold red"), " ", ("link", "underline")), id="text"
            )
        field = Input(placeholder="type here")
        field.cursor_blink = False
        yield field
        yield DataTable()
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.cursor_type = "row"
        table.add_columns("one", "two", "三")
        for row in range(40):
            table.add_row(str(row), "x" * (row % 7), "行" * (row % 3), key=str(row))
        self.steps = 0

    def action_step(self) -> None:
        self.steps += 1
        self.query_one(Sparkline).data = [(value * 7 + self.steps) % 11 for value in range(40)]
        self.query_one("#text", Static).update(f"step {self.steps} {'宽' * (self.steps % 4)}{'ab' * self.steps}")
        table = self.query_one(DataTable)
        table.update_cell("0", table.ordered_columns[1].key, f"step {self.steps}")

    def action_ask(self) -> None:
        self.push_screen(Question())

    def action_theme(self) -> None:
        self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    def action_copy(self) -> None:
        self.copy_to_clipboard("to the clipboard")


if __name__ == "__main__":
    app = SampleApp(driver_class=choose_driver())
    app.run()
    sys.exit(app.return_code or 0)
