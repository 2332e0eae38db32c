"""Writes the shards of a mix, each whole or not at all; those that are there already are left as they are."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.data.plan.records import Output
from engine.data.prepare.copies import Numbers
from engine.data.prepare.mixing import Mix
from engine.data.prepare.parts import Part, read_lines, write_whole
from engine.data.prepare.reading import Stopped


class Shard(msgspec.Struct, frozen=True):
    """A file of the output."""

    file: str
    records: int
    bytes: int
    sha256: str


def write_shards(
    folder: Path, output: Output, mix: Mix, parts: Sequence[Part], tell: Callable[[str], None],
    stopping: Callable[[], bool],
) -> tuple[Shard, ...]:  # fmt: skip
    """Write `data-...` and `native-...` shards; what an earlier run left behind under such names is removed.

    Raises:
        Stopped: A stop was asked for.
    """
    jobs = [
        (f"{kind}-{number:05d}-of-{count:05d}.{output.format}", chosen)
        for kind, numbers in (("data", mix.order), ("native", mix.native))
        for number, count, chosen in _cut(numbers, output.shard_rows)
    ]
    for pattern in ("data-*-of-*", "native-*-of-*"):
        for path in folder.glob(pattern):
            if path.name not in {name for name, _ in jobs}:
                path.unlink()
    shards = []
    for name, numbers in jobs:
        if stopping():
            raise Stopped
        tell(f"writing {name}")
        path = folder / name
        if not path.exists():
            _write(path, output.format, read_lines(numbers, mix.starts, mix.facts, parts))
        shards.append(shard_of(path, len(numbers)))
    return tuple(shards)


def shard_of(path: Path, records: int) -> Shard:
    """A shard's entry in the manifest."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Shard(path.name, records, path.stat().st_size, digest)


def _cut(numbers: Numbers, rows: int) -> Iterator[tuple[int, int, Numbers]]:
    count = -(-len(numbers) // rows)
    for shard in range(count):
        yield shard, count, numbers[shard * rows : (shard + 1) * rows]


def _write(path: Path, kind: str, lines: list[bytes]) -> None:
    if kind == "jsonl":
        write_whole(path, b"".join(lines))
        return
    import pyarrow
    import pyarrow.parquet

    rows: list[dict[str, Any]] = [msgspec.json.decode(line) for line in lines]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    temporary = path.with_name(path.name + ".part")
    pyarrow.parquet.write_table(table, temporary, compression="zstd")
    temporary.replace(path)
