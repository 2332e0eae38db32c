"""Rows of any source, raw or decoded."""

from collections.abc import Iterator
from pathlib import Path

from engine.data.records import BadRow, Raw, Row, Source, SourceError
from engine.data.sources.decoding import decode
from engine.data.sources.local import read_local


def raw_rows(source: Source, skip: int = 0) -> Iterator[Raw]:
    """Rows as they are read, after the first `skip`.

    Raises:
        SourceError: The source cannot be read.
    """
    if source.path is not None:
        return read_local(Path(source.path), source.encoding, skip)
    if source.hub is None:
        raise SourceError("the source names neither a file nor a hub data set", "give path or hub")
    from engine.data.sources.hub import read_hub

    return read_hub(source, skip)


def read_rows(source: Source) -> Iterator[Row | BadRow]:
    """Decoded rows.

    Raises:
        SourceError: The source cannot be read.
    """
    return (decode(raw, source.encoding) for raw in raw_rows(source))


def named_source(
    name: str, config: str | None = None, split: str | None = None, revision: str | None = None, encoding: str = "utf-8"
) -> Source:
    """The source that an operator names: a path, or else the id of a hub data set.

    Raises:
        SourceError: It is neither.
    """
    if Path(name).exists() or Path(name).suffix in (
        ".jsonl",
        ".json",
        ".csv",
        ".tsv",
        ".parquet",
        ".gz",
        ".zst",
        ".xz",
    ):
        return Source(path=str(Path(name).absolute()), encoding=encoding)
    if name.count("/") != 1 or name.startswith(("/", ".")):
        raise SourceError(f"{name} is no file, and no hub id", "give a path, or OWNER/NAME of a hub data set")
    return Source(hub=name, config=config, split=split, revision=revision)
