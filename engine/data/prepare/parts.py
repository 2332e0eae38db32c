"""Parts: what comes of a block of a source's rows. Written whole or not at all, so that a kill costs one at most."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.data.prepare.words import Hashes

FACTS = np.dtype(
    [("low", "<u8"), ("high", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("tokens", "<u4"), ("language", "S8")]
)
"""Of each record: 128 bits of its comparable text, where it lies in the part's lines, tokens, language."""


class Sample(msgspec.Struct, frozen=True):
    """A record that was left out, to be looked at."""

    source: str
    row: int
    """From 1, in the source."""
    message: str
    text: str


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a block of rows."""

    rows: int
    steps: dict[str, int]
    """Step to records left after it, in order."""
    dropped: dict[str, dict[str, int]]
    """Step to reason to count."""
    samples: dict[str, list[Sample]]
    """Reason to the first records of it."""
    bad_rows: int
    """Rows that could not be read or hold no prompt."""


class Part:
    """The files of one block."""

    def __init__(self, folder: Path, source: int, number: int) -> None:
        self.source = source
        self.number = number
        self._stem = folder / f"{source:03d}-{number:06d}"

    @property
    def lines_path(self) -> Path:
        """One record a line."""
        return self._stem.with_suffix(".jsonl")

    @property
    def done(self) -> bool:
        """Whether it is written in full."""
        return self._stem.with_suffix(".json").exists()

    def write(
        self, lines: bytes, facts: NDArray[Any], bands: Hashes, signatures: NDArray[np.uint16], tally: Tally
    ) -> None:
        """Write all, the tally last: it is what makes the part done."""
        write_whole(self.lines_path, lines)
        for name, array in (("facts", facts), ("bands", bands), ("signatures", signatures)):
            temporary = self._path(name).with_suffix(".part")
            with temporary.open("wb") as stream:
                np.save(stream, array)
            temporary.replace(self._path(name))
        write_whole(self._stem.with_suffix(".json"), msgspec.json.encode(tally))

    def tally(self) -> Tally:
        """What became of the rows."""
        return msgspec.json.decode(self._stem.with_suffix(".json").read_bytes(), type=Tally)

    def facts(self) -> NDArray[Any]:
        """`FACTS` of each record."""
        return np.asarray(np.load(self._path("facts")))

    def bands(self) -> Hashes:
        """A row for each band; mapped, not read."""
        return np.asarray(np.load(self._path("bands"), mmap_mode="r"))

    def signatures(self) -> NDArray[np.uint16]:
        """The low half of each minimum; mapped, not read."""
        return np.asarray(np.load(self._path("signatures"), mmap_mode="r"))

    def _path(self, name: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}.{name}.npy")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def parts_of(folder: Path, source: int) -> list[Part]:
    """The parts of a source that are done, in order."""
    numbers = sorted(int(path.stem.split("-")[1]) for path in folder.glob(f"{source:03d}-*.json"))
    return [Part(folder, source, number) for number in numbers]


def read_lines(
    numbers: NDArray[np.int64], starts: NDArray[np.int64], facts: NDArray[Any], parts: Sequence[Part]
) -> list[bytes]:
    """The lines of records by their numbers through all parts. Each part is opened once."""
    where = starts.searchsorted(numbers, side="right") - 1
    order = np.argsort(where, kind="stable")
    lines = [b""] * len(numbers)
    for chosen in np.split(order, np.flatnonzero(np.diff(where[order])) + 1):
        if not len(chosen):
            continue
        offsets, lengths = (facts[name][numbers[chosen]].tolist() for name in ("offset", "length"))
        with parts[int(where[chosen[0]])].lines_path.open("rb") as stream:
            for place, offset, length in zip(chosen.tolist(), offsets, lengths, strict=True):
                stream.seek(offset)
                lines[place] = stream.read(length)
    return lines
