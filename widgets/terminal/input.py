"""Keys and mouse reports from the terminal, read without waking up while nothing is typed."""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Callable
from threading import Event

from textual._xterm_parser import XTermParser
from textual.message import Message

_ESCAPE_WAIT_S = 0.1
"""How often the parser is asked whether a lone Escape has waited long enough, while it may."""

_IDLE_ROUNDS = 5


class WakingEvent(Event):
    """An event that also makes a file readable, so that a thread which waits for input sees it at once."""

    def __init__(self) -> None:
        super().__init__()
        self._open = True
        self.reader, self._writer = os.pipe()

    def set(self) -> None:
        """Set it and wake who waits."""
        super().set()
        if self._open:
            os.write(self._writer, b".")

    def clear(self) -> None:
        """Clear it, for a next round."""
        super().clear()
        if self._open:
            os.read(self.reader, 4096)

    def close(self) -> None:
        """Give the pipe back; the event goes on without it."""
        if self._open:
            self._open = False
            os.close(self.reader)
            os.close(self._writer)


def read_input(fileno: int, stop: WakingEvent, parser: XTermParser, dispatch: Callable[[Message], None]) -> bool:
    """Read and dispatch until `stop` is set.

    Returns:
        Whether the terminal is still there: `False` once reading has come to an end or fails.
    """
    decode = getincrementaldecoder("utf-8")(errors="replace").decode
    rounds = _IDLE_ROUNDS
    with selectors.DefaultSelector() as selector:
        selector.register(fileno, selectors.EVENT_READ)
        selector.register(stop.reader, selectors.EVENT_READ)
        while not stop.is_set():
            ready = selector.select(_ESCAPE_WAIT_S if rounds < _IDLE_ROUNDS else None)
            rounds = 0 if ready else rounds + 1
            if any(key.fd == fileno for key, _ in ready):
                data = _read(fileno)
                if not data:
                    return False
                for message in parser.feed(decode(data)):
                    dispatch(message)
            for message in parser.tick():
                dispatch(message)
    return True


def _read(fileno: int) -> bytes:
    try:
        return os.read(fileno, 4096)
    except OSError:  # EIO: the other side of the terminal is closed
        return b""
