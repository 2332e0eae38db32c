"""A run's own SQLite file: its samples, and what became of each. One row for a sample, so nothing is stored twice.

It lies in the run folder, apart from the state database, and holds all that a run needs to go on after any crash.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from engine.regen.records import Answer, Extent, Failure, Message, Rejection, Sample, SourceTally, Stored, Tally
from engine.regen.tokens.packing import packed, unpacked

FILE_NAME = "answers.sqlite"
BUSY_S = 10.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS source (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, records INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS counted (one INTEGER PRIMARY KEY CHECK (one = 1), samples INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS extent (path TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sample (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
    line INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rejection (file TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL,
    remedy TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outcome (number INTEGER PRIMARY KEY REFERENCES sample (number), kind TEXT NOT NULL,
    message TEXT NOT NULL, tries INTEGER NOT NULL, finish_reasons TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, seconds REAL NOT NULL);
CREATE TABLE IF NOT EXISTS answer (number INTEGER PRIMARY KEY REFERENCES sample (number), body BLOB NOT NULL,
    checksum INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS flaw (number INTEGER NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (number, kind)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (number INTEGER PRIMARY KEY REFERENCES sample (number), body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS outcome_kind ON outcome (kind, completion_tokens, prompt_tokens, finish_reasons);
"""


class Store:
    """The samples and answers of one run. A connection belongs to one thread; one that only reads sees one moment."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        path = folder / FILE_NAME
        if read_only:
            self.database = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None
            )
            self.database.execute("BEGIN")
        else:
            self.database = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            self.database.execute("PRAGMA journal_mode = WAL")
            self.database.execute("PRAGMA synchronous = FULL")
            self.database.executescript(_SCHEMA)
            path.chmod(0o600)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def has_source(self, path: Path) -> bool:
        """Whether an input file was taken in whole."""
        return self.database.execute("SELECT 1 FROM source WHERE path = ?", [str(path)]).fetchone() is not None

    def marks(self) -> bytearray:
        """At the number of each sample 1 where it has an outcome, else 0."""
        marks = bytearray(self._last_number() + 1)
        for (number,) in self.database.execute("SELECT number FROM outcome"):
            marks[number] = 1
        return marks

    def samples(self, numbers: Sequence[int]) -> list[tuple[int, Sample]]:
        """These samples, in this order."""
        places = ",".join(map(str, numbers))
        found = dict(self.database.execute(f"SELECT number, body FROM sample WHERE number IN ({places})").fetchall())
        return [(number, msgspec.json.decode(found[number], type=Sample)) for number in numbers]

    def names(self, numbers: Sequence[int]) -> dict[int, str]:
        """The ids of these samples."""
        places = ",".join(map(str, numbers))
        return dict(self.database.execute(f"SELECT number, id FROM sample WHERE number IN ({places})").fetchall())

    def prompt_ids(self) -> Iterator[str]:
        """The id of each prompt, as often as answers to it are wanted."""
        for name, copy in self.database.execute("SELECT id, json_extract(body, '$.copy') FROM sample ORDER BY number"):
            yield name.removesuffix(f"#{copy}") if copy else name

    def write(self, results: Sequence[Answer | Failure]) -> None:
        """Store outcomes, all or none, synced to disk. One that a sample has already is kept."""
        self.database.execute("BEGIN IMMEDIATE")
        try:
            for result in results:
                self._write(result)
            self.database.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def forget_failures(self, kind: str | None = None) -> int:
        """Make failed samples pending again; returns how many."""
        sql = "DELETE FROM outcome WHERE kind != 'done'" + (" AND kind = ?" if kind else "")
        return self.database.execute(sql, [kind] if kind else []).rowcount

    def extents(self) -> list[Extent]:
        """Which samples each input gave; one for all where the run is older than this was recorded."""
        rows = self.database.execute("SELECT path, first, last FROM extent ORDER BY first").fetchall()
        last = self._last_number()
        if sum(end - first + 1 for _, first, end in rows) == last:
            return [Extent(*row) for row in rows]
        return [Extent("all inputs", 1, last)]

    def source_tallies(self) -> list[SourceTally]:
        """What became of the samples of each input."""
        sql = """SELECT kind, count(*), total(completion_tokens), total(1.0 * completion_tokens * completion_tokens)
            FROM outcome WHERE number BETWEEN ? AND ? GROUP BY kind"""
        tallies = []
        for extent in self.extents():
            kinds = {row[0]: row[1:] for row in self.database.execute(sql, [extent.first, extent.last])}
            done, tokens, squares = kinds.pop("done", (0, 0, 0.0))
            failed = {kind: counts[0] for kind, counts in kinds.items()}
            tallies.append(SourceTally(extent, done, int(tokens), squares, failed))
        return tallies

    def size(self) -> tuple[int, int, int]:
        """Samples, rejected records, and outcomes; at once, however many there are."""
        one = self.database.execute(
            "SELECT (SELECT count(*) FROM sample), (SELECT count(*) FROM rejection), (SELECT count(*) FROM outcome)"
        )
        return tuple(one.fetchone())

    def tally(self) -> Tally:
        """Counts of everything."""
        total, rejected, _ = self.size()
        rows = self.database.execute(
            """SELECT kind, count(*), sum(finish_reasons LIKE '%length%'), total(prompt_tokens),
            total(completion_tokens) FROM outcome GROUP BY kind"""
        )
        kinds = {row[0]: row[1:] for row in rows}
        done, cut, prompt_tokens, completion_tokens = kinds.pop("done", (0, 0, 0, 0))
        return Tally(
            total=total,
            rejected=rejected,
            done=done,
            cut_by_length=cut,
            prompt_tokens=int(prompt_tokens),
            completion_tokens=int(completion_tokens),
            failed={kind: counts[0] for kind, counts in kinds.items()},
        )

    def answers(self) -> Iterator[Stored]:
        """Every answered sample, by number.

        Raises:
            ValueError: An answer is not what was stored.
        """
        sql = """SELECT number, s.body, a.body, a.checksum, o.finish_reasons, t.body,
                (SELECT group_concat(f.kind) FROM flaw f WHERE f.number = a.number), s.source
            FROM answer a JOIN sample s USING (number) JOIN outcome o USING (number) LEFT JOIN tokens t USING (number)
            ORDER BY number"""
        for number, sample, body, checksum, reasons, tokens, flaws, source in self.database.execute(sql):
            if zlib.crc32(body) != checksum:
                raise ValueError(f"the stored answer of sample {number} is damaged")
            yield Stored(
                number=number,
                source=source,
                sample=msgspec.json.decode(sample, type=Sample),
                assistants=msgspec.json.decode(body, type=tuple[Message, ...]),
                finish_reasons=tuple(reasons.split(",")),
                flaws=tuple(flaws.split(",")) if flaws else (),
                tokens=unpacked(tokens) if tokens else (),
            )

    def rejections(self) -> Iterator[Rejection]:
        """Input records that could not be used."""
        for row in self.database.execute("SELECT file, line, reason, remedy FROM rejection ORDER BY rowid"):
            yield Rejection(*row)

    def failures(self) -> list[tuple[str, int, str, str]]:
        """Kind, count, and the first such sample's id and message."""
        sql = """SELECT o.kind, count(*), s.id, o.message, min(o.number) FROM outcome o JOIN sample s USING (number)
            WHERE o.kind != 'done' GROUP BY o.kind ORDER BY count(*) DESC"""
        return [row[:4] for row in self.database.execute(sql)]

    def flaw_examples(self, extent: Extent) -> list[tuple[str, int, str]]:
        """Kind, count and the first such sample's id of one input."""
        sql = """SELECT f.kind, count(*), s.id, min(f.number) FROM flaw f JOIN sample s USING (number)
            WHERE f.number BETWEEN ? AND ? GROUP BY f.kind ORDER BY count(*) DESC"""
        return [row[:3] for row in self.database.execute(sql, [extent.first, extent.last])]

    def flaws(self) -> dict[str, dict[str, int]]:
        """Flawed answers of each input, by kind."""
        sql = "SELECT kind, count(*) FROM flaw WHERE number BETWEEN ? AND ? GROUP BY kind"
        return {
            extent.name: dict(self.database.execute(sql, [extent.first, extent.last]).fetchall())
            for extent in self.extents()
        }

    def sources(self) -> list[tuple[str, str, int]]:
        """Path, SHA-256 and record count of each input."""
        return self.database.execute("SELECT path, sha256, records FROM source ORDER BY rowid").fetchall()

    def _last_number(self) -> int:
        return int(self.database.execute("SELECT coalesce(max(number), 0) FROM sample").fetchone()[0])

    def _roll_back(self) -> None:
        if self.database.in_transaction:  # where the disk is full SQLite may have done it already
            self.database.execute("ROLLBACK")

    def _write(self, result: Answer | Failure) -> None:
        insert = "INSERT INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        if isinstance(result, Failure):
            self.database.execute(
                insert, [result.number, result.kind, result.message[:500], result.tries, "", 0, 0, 0.0]
            )
            return
        reasons = ",".join(result.finish_reasons)
        cursor = self.database.execute(
            insert,
            [result.number, "done", "", 1, reasons, result.prompt_tokens, result.completion_tokens, result.seconds],
        )
        if cursor.rowcount == 1:
            body = msgspec.json.encode(result.assistants)
            self.database.execute("INSERT INTO answer VALUES (?, ?, ?)", [result.number, body, zlib.crc32(body)])
            for kind in result.flaws:
                self.database.execute("INSERT INTO flaw VALUES (?, ?)", [result.number, kind])
            if result.tokens:
                self.database.execute("INSERT INTO tokens VALUES (?, ?)", [result.number, packed(result.tokens)])
