"""The end of a log file of any size, and what is added to it."""

from pathlib import Path

from state.outside_text import plain_line

BLOCK_BYTES = 64 * 1024
LONGEST_LINE = 10_000
MOST_BYTES = 16 * 2**20
"""Of what came since the last look: a screen cannot show more, so what lies before is passed over."""


class LogTail:
    """Reads from the end by offset, so 10 GB open as fast as 10 KB. Follows a log that is emptied by its rotation."""

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._offset = start_of_last_lines(path, count)
        self._rest = b""

    def new_lines(self, last: bool) -> list[str]:
        """Whole lines that were added, made harmless; with `last` also one that has no end yet."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                if size < self._offset:
                    self._offset, self._rest = 0, b""
                start = max(self._offset, size - MOST_BYTES)
                file.seek(start)
                added = file.read(size - start)
        except FileNotFoundError:
            return []
        self._offset = start + len(added)
        *whole, self._rest = (self._rest + added).split(b"\n")
        if (last and self._rest) or len(self._rest) > LONGEST_LINE * 4:
            whole.append(self._rest)
            self._rest = b""
        return [plain_line(line.decode(errors="replace"), LONGEST_LINE) for line in whole]


def start_of_last_lines(path: Path, count: int) -> int:
    """Where the last `count` lines begin; 0 where the file has fewer or is not there yet."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        end = position = file.seek(0, 2)
        if count == 0:
            return end
        wanted = count + 1
        while position > 0 and end - position < MOST_BYTES:
            step = min(BLOCK_BYTES, position)
            position -= step
            file.seek(position)
            block = file.read(step)
            if position + step == end and not block.endswith(b"\n"):
                wanted -= 1  # the last line has no end yet
            found = block.count(b"\n")
            if found >= wanted:
                return position + _place_from_end(block, wanted) + 1
            wanted -= found
        return position


def _place_from_end(block: bytes, number: int) -> int:
    place = len(block)
    for _ in range(number):
        place = block.rindex(b"\n", 0, place)
    return place
