"""Reads files that an operator names, bounded: never a device or a pipe, never more than is sensible."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 1 << 20
"""Of a text that somebody wrote by hand: such files have a few kilobytes."""


class NotRegular(OSError):
    """A device, a pipe or a folder, where a file is wanted."""


def read_small_text(path: Path, most_bytes: int = MOST_BYTES, encoding: str = "utf-8") -> str:
    """The text of a regular file.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger than `most_bytes`.
        UnicodeDecodeError: It is no text of this encoding.
    """
    with open_regular(path) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes >> 10} KiB", str(path))
    return data.decode(encoding)


def open_regular(path: Path) -> BinaryIO:
    """Open to read, without waiting for a pipe's other end.

    Raises:
        NotRegular: It is no regular file.
        OSError: It cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotRegular(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(descriptor, "rb")
