"""Rows of a local file: JSONL, a JSON array, CSV, TSV or Parquet, plain or compressed."""

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec

from engine.data.records import BadRow, Raw, SourceError
from engine.data.sources.decoding import LARGEST_ROW, is_read_as_utf8
from engine.data.sources.opening import is_damage, open_binary, plain_suffix

LARGEST_ARRAY = 256 * 2**20
_PARQUET_BATCH = 512
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def read_local(path: Path, encoding: str = "utf-8", skip: int = 0) -> Iterator[Raw]:
    """Every row in file order after the first `skip`; blank lines are passed over and not counted.

    Raises:
        SourceError: The file cannot be opened, or is of no kind that is known.
    """
    try:
        if not path.is_file():
            raise SourceError(f"{path} is no file", "give a JSONL, JSON, CSV, TSV or Parquet file")
        yield from islice(_rows(path, encoding), skip, None)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}", "check the path and its rights") from error


def _rows(path: Path, encoding: str) -> Iterator[Raw]:
    suffix = plain_suffix(path)
    if suffix == ".parquet":
        yield from _parquet(path)
        return
    try:
        with open_binary(path) as stream:
            if suffix in (".csv", ".tsv"):
                yield from _table(stream, encoding, "\t" if suffix == ".tsv" else ",")
            else:
                yield from _json(stream, encoding)
    except SourceError:
        raise
    except Exception as error:
        if not is_damage(error):
            raise
        yield BadRow("damaged_file", f"the compressed file is damaged: {error}")


def _json(stream: IO[bytes], encoding: str) -> Iterator[Raw]:
    head = stream.read(4096)
    mark = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if mark is None and encoding.lower().startswith("utf-16"):
        mark = encoding
    if mark is not None:
        yield from _utf16_lines(head, stream, mark)
        return
    first = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    if first == b"[":
        yield from _array(head + stream.read(LARGEST_ARRAY), encoding)
    else:
        yield from _lines(head, stream)


def _lines(head: bytes, stream: IO[bytes]) -> Iterator[Raw]:
    rest = io.BytesIO(head)
    while True:
        line = rest.readline(LARGEST_ROW + 1)
        if not line.endswith(b"\n"):
            line += stream.readline(LARGEST_ROW + 1 - len(line))
        if not line:
            return
        if len(line) > LARGEST_ROW and not line.endswith(b"\n"):
            _skip_line(stream)
            yield BadRow("huge_row", f"the row is longer than {LARGEST_ROW // 2**20} MiB")
        elif line.strip():
            yield line


def _utf16_lines(head: bytes, stream: IO[bytes], name: str) -> Iterator[Raw]:
    decoder = codecs.getincrementaldecoder(name)("replace")
    kept = decoder.decode(head).removeprefix("\ufeff")
    while True:
        block = stream.read(2**20)
        lines = (kept + decoder.decode(block, final=not block)).split("\n")
        kept = lines.pop() if block else ""
        yield from (line.encode("utf-8", "replace") for line in lines if line.strip())
        if not block:
            return


def _array(content: bytes, encoding: str) -> Iterator[Raw]:
    if len(content) > LARGEST_ARRAY:
        raise SourceError("a JSON array of more than 256 MiB", "write it as JSONL, one record a line")
    try:
        text = content if is_read_as_utf8(encoding) else content.decode(encoding).encode()
        records = msgspec.json.decode(text.removeprefix(codecs.BOM_UTF8), type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield BadRow("broken_json", f"the array is not JSON: {error}")
        return
    yield from (bytes(record) for record in records)


def _table(stream: IO[bytes], encoding: str, delimiter: str) -> Iterator[Raw]:
    csv.field_size_limit(LARGEST_ROW)
    text = io.TextIOWrapper(stream, "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding, newline="")
    rows = csv.DictReader(text, delimiter=delimiter)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            # The decoder cannot find the next row again.
            yield BadRow("bad_encoding", f"not {encoding} after line {rows.line_num}: give the source's encoding")
            raise SourceError(f"the file is not {encoding}: {error.reason}", "give the source's encoding") from error
        except csv.Error as error:
            yield BadRow("huge_row", f"line {rows.line_num}: {error}")
            continue
        if None in row or any(value is None for value in row.values()):
            yield BadRow("not_an_object", f"line {rows.line_num} has not as many cells as the heading")
        else:
            yield row


def _parquet(path: Path) -> Iterator[Raw]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as parquet:
            for batch in parquet.iter_batches(batch_size=_PARQUET_BATCH):
                yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        yield BadRow("damaged_file", f"the Parquet file is damaged: {error}")


def _skip_line(stream: IO[bytes]) -> None:
    while (rest := stream.readline(2**20)) and not rest.endswith(b"\n"):
        pass
