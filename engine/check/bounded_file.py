"""Reads text files from outside with bounds: size, kind of file, binary content."""

import os
from pathlib import Path
from typing import BinaryIO

from engine.check.errors import SourceUnreadable
from engine.check.records import Place
from state.outside_file import NotRegular, open_regular

MAX_BYTES = 1024 * 1024
"""A launch script or manifest is a few kilobytes; a log is read from both ends."""


def read_text(path: Path) -> str:
    """The text of a regular file of at most `MAX_BYTES`; raises `SourceUnreadable`."""
    return decode(_read(path), str(path))


def read_ends(path: Path, head_bytes: int = MAX_BYTES, tail_bytes: int = MAX_BYTES) -> str:
    """The beginning and the end of a file that may be long (a log); raises `SourceUnreadable`."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = _bytes(file, head_bytes, path)
        if size > head_bytes:
            file.seek(max(head_bytes, size - tail_bytes))
            data += b"\n" + _bytes(file, tail_bytes, path)
    return decode(data, str(path))


def read_stream(stream: BinaryIO, name: str) -> str:
    """The text of standard input, at most `MAX_BYTES`; raises `SourceUnreadable`."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SourceUnreadable(_too_large(f"more than {MAX_BYTES}"), Place(name))
    return decode(data, name)


def decode(data: bytes, name: str) -> str:
    """UTF-8 text; raises `SourceUnreadable` with the line of the first byte that is no text."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    zero = data.find(b"\0")
    if zero >= 0:
        raise SourceUnreadable("a binary file, not a launch script", Place(name, data.count(b"\n", 0, zero) + 1))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceUnreadable(f"byte {data[error.start]:#04x} is not UTF-8 text", Place(name, line)) from None


def _read(path: Path) -> bytes:
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = _bytes(file, MAX_BYTES + 1, path)
    if len(data) > MAX_BYTES:
        raise SourceUnreadable(_too_large(str(max(size, len(data)))), Place(str(path)))
    return data


def _bytes(file: BinaryIO, size: int, path: Path) -> bytes:
    try:
        return file.read(size)
    except OSError as error:  # a damaged disk, a mount that has gone, /proc
        raise SourceUnreadable(f"cannot be read: {error.strerror}", Place(str(path))) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except NotRegular:
        raise SourceUnreadable("not a regular file", Place(str(path))) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceUnreadable(f"cannot be read: {reason}", Place(str(path))) from None


def _too_large(size: str) -> str:
    return f"{size} bytes: a launch file has at most {MAX_BYTES}"
