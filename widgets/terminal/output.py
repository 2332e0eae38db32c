"""The file that a driver writes to, when the terminal behind it can go away."""

from collections.abc import Callable
from typing import TextIO


class TerminalFile:
    """Writes to a terminal. Once that fails it says so, once, and swallows what comes after.

    Without that, Textual's writing thread would die, its queue would fill, and the console would wait for it for ever.
    """

    def __init__(self, file: TextIO, on_lost: Callable[[], None]) -> None:
        self._file = file
        self._on_lost = on_lost
        self._lost = False

    def write(self, text: str) -> None:
        """Queue text for the terminal."""
        if not self._lost:
            self._guarded(lambda: self._file.write(text))

    def flush(self) -> None:
        """Send what is queued."""
        if not self._lost:
            self._guarded(self._file.flush)

    def fileno(self) -> int:
        """Number of the file behind."""
        return self._file.fileno()

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError:
            self._lost = True
            self._on_lost()
