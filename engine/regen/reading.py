"""Reads input files line by line, in constant memory: JSONL, the same in gzip, or a JSON array."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from engine.regen.formats import Unusable, to_sample
from engine.regen.records import Rejection, Sample
from state.outside_file import open_regular

LONGEST_LINE = 16 * 2**20
LARGEST_ARRAY = 256 * 2**20
_CUT = "split the file; one record may have at most 16 MiB"


def read_samples(path: Path) -> Iterator[tuple[int, Sample | Rejection]]:
    """Every record of a file with its line (or its place in an array), usable or not; blank lines are passed over.

    Raises:
        OSError: The file cannot be opened.
    """
    with _open(path) as stream:
        try:
            if path.name.removesuffix(".gz").endswith(".json") and (head := _first_byte(stream)) == b"[":
                yield from _from_array(path, stream, head)
            else:
                yield from _from_lines(path, stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield 0, Rejection(str(path), 0, f"the compressed file is damaged: {error}", "get the file again")


def _from_lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, Sample | Rejection]]:
    stream.seek(0)
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            _skip_line(stream)
            yield number, Rejection(str(path), number, "the line is longer than 16 MiB", _CUT)
        elif line.strip():
            yield number, _to_sample(path, number, line)


def _from_array(path: Path, stream: BinaryIO, head: bytes) -> Iterator[tuple[int, Sample | Rejection]]:
    stream.seek(0)
    content = stream.read(LARGEST_ARRAY + 1)
    if len(content) > LARGEST_ARRAY:
        yield 1, Rejection(str(path), 1, "a JSON array of more than 256 MiB", "write it as JSONL, one record a line")
        return
    try:
        records = msgspec.json.decode(content, type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        yield 1, Rejection(str(path), 1, f"not JSON: {error}", "repair the file")
        return
    for number, raw in enumerate(records, 1):
        yield number, _to_sample(path, number, bytes(raw))


def _to_sample(path: Path, number: int, line: bytes) -> Sample | Rejection:
    try:
        return to_sample(msgspec.json.decode(line.lstrip(b"\xef\xbb\xbf")))
    except Unusable as error:
        return Rejection(str(path), number, str(error), error.remedy)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Rejection(str(path), number, f"not JSON: {error}", "repair the line, or remove it")
    except RecursionError:
        return Rejection(str(path), number, "nested too deeply", "repair the line, or remove it")


def _open(path: Path) -> BinaryIO:
    plain = open_regular(path)
    magic = plain.read(2)
    plain.seek(0)
    if magic != b"\x1f\x8b":
        return plain
    plain.close()
    return gzip.open(path, "rb")  # type: ignore[return-value]  # a GzipFile reads like any binary stream


def _first_byte(stream: BinaryIO) -> bytes:
    while (byte := stream.read(1)) and byte.isspace():
        pass
    return byte


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(2**20)) and not rest.endswith(b"\n"):
        pass
