"""A pipe by which one who has written a command wakes the engine. Only a hint: the engine looks by itself too."""

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TAKEN_AT_ONCE = 4096


def ring(path: Path) -> None:
    """Wake the engine that listens at this pipe, if one does."""
    with suppress(OSError):  # ENXIO: nobody listens; EAGAIN: it has been rung often enough
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"\0")
        finally:
            os.close(descriptor)


@contextmanager
def heard(path: Path) -> Iterator[asyncio.Event]:
    """An event that is set whenever somebody rings. Where no pipe can be made it is never set."""
    rung = asyncio.Event()
    descriptor = _listen(path)
    if descriptor is None:
        yield rung
        return

    def hear() -> None:
        with suppress(BlockingIOError):
            os.read(descriptor, _TAKEN_AT_ONCE)
        rung.set()

    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, hear)
    try:
        yield rung
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _listen(path: Path) -> int | None:
    try:
        if path.is_symlink() or (path.exists() and not path.is_fifo()):
            path.unlink()
        if not path.exists():
            os.mkfifo(path, 0o600)
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)  # read and write: it never reads as ended
    except OSError:  # some file systems have no pipes
        return None
