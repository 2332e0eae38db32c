"""Recordings of what was watched: JSON lines, gzipped where the name ends in `.gz`, scrubbed of names."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from engine.watch.readings import Readings
from state.errors import StateError
from state.outside_file import open_regular

LINE_LIMIT = 16 << 20
_TIMES = frozenset({"taken_at", "at", "seen_at", "started_at", "lost_at"})


class Line(msgspec.Struct, frozen=True):
    """Readings, and when they were taken: seconds since the recording began."""

    at_s: float
    readings: Readings


class RecordingError(StateError):
    """The file is no recording."""


def open_for_writing(path: Path) -> IO[bytes]:
    """A new file; an older one of that name is replaced."""
    return gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb")  # type: ignore[return-value]


def write_line(file: IO[bytes], line: Line) -> None:
    """Add a line."""
    file.write(msgspec.json.encode(line) + b"\n")


def read_lines(path: Path) -> Iterator[Line]:
    """The lines in order.

    Raises:
        RecordingError: With file and line.
    """
    number = 0
    try:
        with open_regular(path) as raw, gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw as file:
            while text := file.readline(LINE_LIMIT):
                number += 1
                yield msgspec.json.decode(text, type=Line)
    except FileNotFoundError:
        raise RecordingError(f"{path} is not there.", "Name a file that `alula engine record` made.") from None
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, RecursionError) as error:
        remedy = "Name a file that `alula engine record` made; take the recording again if it was cut off."
        raise RecordingError(f"{path}, line {number}: {error}", remedy) from error


def shifted(record: Any, seconds: float) -> Any:
    """The same record with every time in it moved."""
    if isinstance(record, tuple):
        return tuple(shifted(item, seconds) for item in record)
    if not isinstance(record, msgspec.Struct):
        return record
    changes = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name in _TIMES:
            changes[name] = None if value is None else value + seconds
        elif isinstance(value, (tuple, msgspec.Struct)):
            changes[name] = shifted(value, seconds)
    return msgspec.structs.replace(record, **changes)
