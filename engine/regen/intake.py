"""Takes input files into a run's store: each in whole or not at all, and of a fleet's samples those of one shard."""

import sqlite3
from pathlib import Path

import msgspec

from engine.regen.formats import copies
from engine.regen.reading import read_samples
from engine.regen.records import Rejection, Sample
from engine.regen.shards import Shard

_ELSEWHERE = "CREATE TEMP TABLE IF NOT EXISTS elsewhere (id TEXT PRIMARY KEY) WITHOUT ROWID"


class Intake:
    """What of the inputs is wanted.

    Args:
        database: Of the store.
        limit: At most so many samples in the whole run, all shards of a fleet together.
        samples: So many answers are wanted to each prompt.
        shard: Only what belongs to it; what cannot be used is told by the first.
    """

    def __init__(
        self, database: sqlite3.Connection, limit: int | None = None, samples: int = 1, shard: Shard | None = None
    ) -> None:
        self._database = database
        self._limit = limit
        self._samples = samples
        self._shard = shard

    def take_in(self, path: Path, sha256: str, prefix: str = "") -> None:
        """Take in all records of a file, or none of them where this is interrupted.

        Args:
            path: The file.
            sha256: Its hash, for the manifest.
            prefix: Put before each id, so that the ids of several files do not clash.
        """
        self._database.execute(_ELSEWHERE)
        self._database.execute("BEGIN IMMEDIATE")
        with self._database:
            first, counted, records = self._last_number() + 1, self._counted(), 0
            for line, found in read_samples(path):
                if self._limit is not None and counted >= self._limit:
                    break
                records += 1
                if isinstance(found, Rejection):
                    if self._shard is None or self._shard.number == 1:
                        self._reject(found)
                else:
                    counted += self._take(msgspec.structs.replace(found, id=prefix + found.id), path, line)
            self._database.execute("INSERT INTO source VALUES (?, ?, ?)", [str(path), sha256, records])
            self._database.execute("INSERT OR REPLACE INTO counted VALUES (1, ?)", [counted])
            last = self._last_number()
            if last >= first:
                self._database.execute("INSERT INTO extent VALUES (?, ?, ?)", [str(path), first, last])

    def _take(self, sample: Sample, path: Path, line: int) -> int:
        """How many samples of the run it gives: every shard counts the same, of those that it does not hold as well."""
        if self._shard is None or self._shard.holds(sample.id):
            return sum(self._add(one, path, line) for one in copies(sample, self._samples))
        if self._limit is None:
            return 0
        new = self._database.execute("INSERT OR IGNORE INTO elsewhere VALUES (?)", [sample.id]).rowcount
        return new * self._samples

    def _add(self, sample: Sample, path: Path, line: int) -> int:
        try:
            self._database.execute(
                "INSERT INTO sample (id, source, line, body) VALUES (?, ?, ?, ?)",
                [sample.id, str(path), line, msgspec.json.encode(sample).decode()],
            )
        except sqlite3.IntegrityError:
            self._reject(self._duplicate(sample, path, line))
            return 0
        return 1

    def _duplicate(self, sample: Sample, path: Path, line: int) -> Rejection:
        row = self._database.execute("SELECT source, line, body FROM sample WHERE id = ?", [sample.id]).fetchone()
        same = msgspec.json.decode(row[2], type=Sample) == sample
        what = "the same prompt" if same else "another prompt"
        remedy = "nothing to do: it is asked once" if same else "give each record an id of its own"
        return Rejection(str(path), line, f"the id {sample.id[:80]!r} with {what} stands in {row[0]}:{row[1]}", remedy)

    def _reject(self, rejection: Rejection) -> None:
        self._database.execute("INSERT INTO rejection VALUES (?, ?, ?, ?)", msgspec.structs.astuple(rejection))

    def _counted(self) -> int:
        return int(self._database.execute("SELECT total(samples) FROM counted").fetchone()[0])

    def _last_number(self) -> int:
        return int(self._database.execute("SELECT coalesce(max(number), 0) FROM sample").fetchone()[0])
