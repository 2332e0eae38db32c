"""Records of a preparation to look at: some that are kept, and the first that each reason left out."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from engine.data.prepare.manifest import MANIFEST, Manifest
from engine.data.prepare.parts import Tally
from engine.data.prepare.run import WORK
from state.records.data import DataSample

KEPT_SHOWN = 100
"""From the first shard, which holds them in the order of the mix."""
_FIRST_PARTS = 20
_TALLY = re.compile(r"\d{3}-\d{6}\.json")


def samples_of(output: Path) -> tuple[DataSample, ...]:
    """What is there: of a finished preparation from its manifest and first shard, else from the parts that are done."""
    try:
        if (output / MANIFEST).exists():
            return tuple(_finished(output))
        return tuple(_unfinished(output / WORK))
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        return (DataSample("unreadable", "", str(error), ""),)


def _finished(output: Path) -> Iterator[DataSample]:
    manifest = msgspec.json.decode((output / MANIFEST).read_bytes(), type=Manifest)
    yield from _kept(_first_records(sorted(output.glob("data-*-of-*"))))
    for one in manifest.copies:
        text = f"left out:\n{one['left_out']}\n\nkept:\n{one['kept']}"
        yield DataSample(f"{one['kind']} duplicate", "", "stands in the mix in another place", text)
    for reason, samples in manifest.samples.items():
        yield from (DataSample(reason, f"{one.source} row {one.row}", one.message, one.text) for one in samples)


def _unfinished(work: Path) -> Iterator[DataSample]:
    tallies = [path for path in sorted(work.glob("*.json")) if _TALLY.fullmatch(path.name)][:_FIRST_PARTS]
    for path in tallies[:1]:
        yield from _kept(_lines(path.with_suffix(".jsonl")))
    for path in tallies:
        for reason, samples in msgspec.json.decode(path.read_bytes(), type=Tally).samples.items():
            yield from (DataSample(reason, f"{one.source} row {one.row}", one.message, one.text) for one in samples)


def _first_records(shards: list[Path]) -> Iterator[dict[str, Any]]:
    if not shards:
        return iter(())
    return _parquet(shards[0]) if shards[0].suffix == ".parquet" else _lines(shards[0])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as stream:
        yield from (msgspec.json.decode(line) for line in islice(stream, KEPT_SHOWN))


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as parquet:
        for batch in parquet.iter_batches(batch_size=KEPT_SHOWN):
            yield from batch.to_pylist()
            return


def _kept(records: Iterator[dict[str, Any]]) -> Iterator[DataSample]:
    for record in records:
        tokens = f"{record['tokens']} tokens, " if record.get("tokens") is not None else ""
        told = f"{tokens}{record.get('language', '')}, {record.get('domain', '')}"
        text = "\n\n".join(f"[{one['role']}]\n{one['content']}" for one in record.get("messages", ()))
        yield DataSample("kept", str(record.get("id", "")), told, text or msgspec.json.encode(record).decode())
