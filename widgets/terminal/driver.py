"""Textual's Linux driver, sending only what changed, and leaving quietly when the connection is lost."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.messages import InBandWindowResize

from widgets.terminal.input import WakingEvent, read_input
from widgets.terminal.output import TerminalFile
from widgets.terminal.painter import Painter

CONNECTION_LOST = 129
"""The console's return code after a lost terminal: 128 + SIGHUP, as a shell counts it."""


def choose_driver() -> type[Driver] | None:
    """The class for `App(driver_class=...)`; `None`, and so Textual's own, with `ALULA_DRIVER=textual`."""
    return None if os.environ.get("ALULA_DRIVER") == "textual" else DiffDriver


class DiffDriver(LinuxDriver):
    """Keeps a picture of the screen and sends the cells in which a frame differs from it.

    Under `NO_COLOR` it sends no colour codes at all; Textual by itself sends grey ones.
    """

    exit_event: WakingEvent

    def __init__(
        self, app: Any, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = TerminalFile(sys.__stderr__, self._connection_lost)  # type: ignore[arg-type, assignment]
        self._painter = Painter(*self._get_terminal_size(), colourless=app.no_color)
        self._lost = False
        self._resized = False

    def write(self, data: str) -> None:
        """Send what differs. A frame goes out in one write."""
        if self._lost:
            return
        if self._resized or self._painter.size != self._app.size:
            self._resized = False
            self._painter.resize(*self._app.size)
        if output := self._painter.feed(data):
            super().write(output)

    def call_out(self, sequence: str) -> None:
        """Send what touches no cell (a notification) past the picture of the screen."""
        if sequence and not self._lost:
            super().write(sequence)

    def start_application_mode(self) -> None:
        """Take the terminal; nothing is known of what it shows."""
        self._painter.resize(*self._get_terminal_size())
        self.exit_event = WakingEvent()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGHUP, lambda *_: self._connection_lost())
        resize = signal.getsignal(signal.SIGWINCH)

        def on_resize(number: int, frame: FrameType | None) -> None:
            self._resized = True
            if callable(resize):
                resize(number, frame)
            self._in_loop(self._repaint)

        signal.signal(signal.SIGWINCH, on_resize)
        self._in_loop(self._repaint)

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was."""
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        super().stop_application_mode()

    def close(self) -> None:
        """Let what is queued go out, and end."""
        super().close()
        self.exit_event.close()

    def run_input_thread(self) -> None:
        """Read keys until told to stop or until the terminal is gone."""
        there = read_input(self.fileno, self.exit_event, XTermParser(self._debug), self.process_message)
        if not there and self.input_tty:
            self._connection_lost()

    def process_message(self, message: Message) -> None:
        """Note that the screen may have been cut or moved by a new size, then pass the message on."""
        if isinstance(message, events.Resize | InBandWindowResize):
            self._resized = True
        super().process_message(message)

    def _get_terminal_size(self) -> tuple[int, int]:
        """Ask the terminal first: LINES and COLUMNS in the environment do not follow a resize."""
        with contextlib.suppress(OSError):
            width, height = os.get_terminal_size(self.fileno)
            if width and height:
                return width, height
        return super()._get_terminal_size()

    def _connection_lost(self) -> None:
        if not self._lost:
            self._lost = True
            self._in_loop(self._app.exit, None, CONNECTION_LOST)

    def _repaint(self) -> None:
        """Draw all. Textual by itself does not where the size is the same as before, after Ctrl+Z for one."""
        if self._app.screen_stack:
            self._app.screen.refresh()

    def _in_loop(self, call: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(call, *arguments)
