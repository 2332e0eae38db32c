"""How well copies were found: those that were planted, against what was kept."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from engine.data.prepare.normalise import comparable
from engine.data.prepare.words import WordReader
from tests.benchmarks.data_corpus import Record
from tests.benchmarks.results import Result

SIMILARITY, WORDS = 0.8, 5


class Found(msgspec.Struct):
    """Planted copies, by whether they are similar enough to count as the same, and whether they were left out."""

    equal: int = 0
    equal_missed: int = 0
    near: int = 0
    near_missed: int = 0
    removed: int = 0
    wrongly: int = 0
    """Left out although no earlier record of the family is so similar."""


def judged(corpus: Path, kept: set[str]) -> Found:
    """Hold what was kept against the corpus. A family is an original with its copies."""
    found = Found()
    reader = WordReader()
    originals: dict[str, list[tuple[str, np.ndarray]]] = {}
    needed = _copied(corpus)
    with corpus.open("rb") as stream:
        for line in stream:
            record = msgspec.json.decode(line, type=Record)
            if record.copy_of is None:
                found.removed += record.id not in kept
                found.wrongly += record.id not in kept
                if record.id in needed:
                    originals[record.id] = [(comparable(record.prompt), _shingles(reader, record.prompt))]
                continue
            _judge_copy(record, originals[record.copy_of], record.id in kept, reader, found)
    return found


def _judge_copy(
    record: Record, family: list[tuple[str, np.ndarray]], kept: bool, reader: WordReader, found: Found
) -> None:
    text, shingles = comparable(record.prompt), _shingles(reader, record.prompt)
    equal = any(text == other for other, _ in family)
    best = max(_jaccard(shingles, other) for _, other in family)
    family.append((text, shingles))
    found.removed += not kept
    if equal:
        found.equal += 1
        found.equal_missed += kept
    elif best >= SIMILARITY:
        found.near += 1
        found.near_missed += kept
    else:
        found.wrongly += not kept


def results(subject: str, found: Found) -> Iterator[Result]:
    """Recall and precision as figures."""
    yield Result(subject, "recall, equal", 1 - found.equal_missed / max(found.equal, 1), "")
    yield Result(subject, f"recall, similarity {SIMILARITY}", 1 - found.near_missed / max(found.near, 1), "")
    yield Result(subject, "precision", 1 - found.wrongly / max(found.removed, 1), "")


def kept_by_alula(folder: Path) -> set[str]:
    """Ids in the shards."""
    lines = (line for path in sorted(folder.glob("data-*.jsonl")) for line in path.open("rb"))
    return {str(msgspec.json.decode(line)["source_id"]) for line in lines}


def kept_by_datatrove(folder: Path) -> set[str]:
    """Ids in its output."""
    paths = sorted((folder / "kept").glob("*.jsonl.gz"))
    return {str(msgspec.json.decode(line)["id"]) for path in paths for line in gzip.open(path)}


def _copied(corpus: Path) -> set[str]:
    with corpus.open("rb") as stream:
        found = (msgspec.json.decode(line, type=Record).copy_of for line in stream)
        return {one for one in found if one is not None}


def _shingles(reader: WordReader, text: str) -> np.ndarray:
    grams, _ = reader.read([text]).grams(WORDS)
    return np.unique(grams)


def _jaccard(one: np.ndarray, other: np.ndarray) -> float:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)
