"""Files of a run folder: one pair for each cell, that is one load on one point in one repeat.

`cells/NAME.jsonl` holds a record a request, `cells/NAME.itl` the waits between tokens as 32-bit floats, and
`cells/NAME.end.json`, written last, says that the cell is complete. A cell without it is measured again.
"""

import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from engine.bench.asking import token_gaps
from engine.bench.records import BenchError, CellEnd, Load, Plan, Provenance, RequestRecord
from engine.bench.stream import Reading

PLAN = "plan.json"
COMPARISON = "comparison.json"
"""What the last complete point gave, for screens."""
FLUSH_BYTES = 256 * 1024
Record = TypeVar("Record")


class Problem(msgspec.Struct, frozen=True):
    """Why a point could not be measured."""

    message: str
    remedy: str


class CellFile:
    """Writes one cell."""

    def __init__(self, folder: Path, name: str) -> None:
        self._records = cell_path(folder, name, "jsonl").open("wb", buffering=FLUSH_BYTES)
        self._gaps = cell_path(folder, name, "itl").open("wb", buffering=FLUSH_BYTES)
        self._encoder = msgspec.json.Encoder()

    def keep(self, record: RequestRecord, reading: Reading | None) -> None:
        """Add a request."""
        self._records.write(self._encoder.encode(record) + b"\n")
        if reading is not None:
            gaps = array("f")
            for gap, tokens in token_gaps(reading):
                gaps.extend([gap] * tokens)
            self._gaps.write(gaps.tobytes())

    def close(self) -> None:
        """Put all on disk."""
        for stream in (self._records, self._gaps):
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()


def cell_name(point: str, load: Load, repeat: int) -> str:
    """As its files are named."""
    return f"{repeat}-{point}-{load.name}"


def cell_path(folder: Path, name: str, ending: str) -> Path:
    """One of its files; the folder is made where it is missing."""
    cells = folder / "cells"
    cells.mkdir(mode=0o700, parents=True, exist_ok=True)
    return cells / f"{name}.{ending}"


def read_records(folder: Path, name: str) -> Iterator[RequestRecord]:
    """All records of a cell. A line cut by a crash ends them."""
    decoder = msgspec.json.Decoder(RequestRecord)
    try:
        with cell_path(folder, name, "jsonl").open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                yield decoder.decode(line)
    except FileNotFoundError:
        return


def read_gaps(folder: Path, name: str) -> Any:
    """Waits between tokens in seconds, as a numpy array that lies on disk."""
    import numpy

    path = cell_path(folder, name, "itl")
    size = path.stat().st_size // 4 if path.exists() else 0
    return numpy.memmap(path, dtype="float32", mode="r", shape=(size,)) if size else numpy.empty(0, dtype="float32")


def problem_path(folder: Path, point: str) -> Path:
    """Where it is written why a point could not be measured."""
    return folder / "points" / f"{point}.problem.json"


def write_json(path: Path, record: msgspec.Struct) -> None:
    """Put a record in the place of the one before, in one step."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(record), indent=2))
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def read_end(folder: Path, name: str) -> CellEnd | None:
    """How a cell ended; `None` where it has not."""
    return _read(cell_path(folder, name, "end.json"), CellEnd)


def read_provenance(folder: Path, point: str) -> Provenance | None:
    """On what a point was measured; `None` where it was not."""
    return _read(folder / "points" / f"{point}.json", Provenance)


def read_plan(folder: Path) -> Plan:
    """The plan of a run folder.

    Raises:
        BenchError: There is none, or it is damaged.
    """
    found = _read(folder / PLAN, Plan)
    if found is None:
        raise BenchError(f"{folder} is no folder of a benchmark", "see the runs: alula bench show")
    return found


def _read(path: Path, record: type[Record]) -> Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise BenchError(f"{path} cannot be read: {error}", "measure again, or restore the file") from error
