"""The end of a job's log, read without the rest of it."""

import os
from pathlib import Path

from state.outside_text import plain_line

READ_BYTES = 64 << 10


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines that say something, made harmless; of a file that cannot be read, none."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - READ_BYTES))
            text = file.read(READ_BYTES).decode(errors="replace")
    except OSError:
        return []
    lines = [plain_line(line.rpartition("\r")[2] or line, 2000).strip() for line in text.split("\n")]
    return [line for line in lines if line][-count:]
