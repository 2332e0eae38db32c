"""Which records are copies of an earlier one: equal texts, and texts whose signatures agree.

Records are numbered through all parts in the plan's order, so that the earlier source keeps its record.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.data.plan.records import Duplicates
from engine.data.prepare.parts import Part, read_lines
from engine.data.prepare.words import WordReader
from engine.data.records import Message

Numbers = NDArray[np.int64]
_PAIRS_AT_ONCE = 4_000
KEPT = -1
_TEXTS_AT_ONCE = 2_000
DOUBT = 0.12
"""More than three standard errors of a similarity of 0.8 that 126 minima estimate."""


class _Record(msgspec.Struct):
    messages: list[Message]


def exact_copies(facts: NDArray[Any]) -> Numbers:
    """For each record the first one with the same text, or -1 where it is the first itself."""
    order = np.lexsort((np.arange(len(facts)), facts["low"], facts["high"]))
    low, high = facts["low"][order], facts["high"][order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    firsts = order[fresh][np.cumsum(fresh) - 1] if len(order) else order
    found = np.full(len(facts), KEPT, np.int64)
    found[order] = np.where(firsts == order, KEPT, firsts)
    return found


def near_copies(
    parts: Sequence[Part],
    facts: NDArray[Any],
    alive: NDArray[np.bool_],
    settings: Duplicates,
    tell: Callable[[str], None],
) -> Numbers:
    """For each record that is alive the first of its cluster of near-duplicates, or -1 where it is that itself.

    Signatures decide where they are clear; within `DOUBT` of the similarity that is asked for the texts are compared.
    """
    starts = _starts(parts)
    texts = Texts(parts, starts, facts, settings.words)
    bands = parts[0].bands().shape[0] if parts else 0
    known = np.zeros(0, np.int64)
    roots = np.arange(len(alive), dtype=np.int64)
    for band in range(bands):
        tell(f"comparing, band {band + 1} of {bands}")
        pairs = _candidates(np.concatenate([part.bands()[band] for part in parts]), alive)
        keys = pairs[:, 0] * len(alive) + pairs[:, 1]
        fresh = ~np.isin(keys, known)
        known = np.union1d(known, keys)
        for chosen in _cut(pairs[fresh]):
            agreement = _agreement(parts, starts, chosen)
            _join(roots, chosen[agreement >= settings.similarity + DOUBT])
            doubtful = chosen[abs(agreement - settings.similarity) < DOUBT]
            apart = np.array([_root(roots, left) != _root(roots, right) for left, right in doubtful.tolist()], bool)
            _join(roots, doubtful[apart][texts.similarity(doubtful[apart]) >= settings.similarity])
    found = np.full(len(alive), KEPT, np.int64)
    for number in np.flatnonzero(roots != np.arange(len(roots))).tolist():
        found[number] = _root(roots, number)
    return found


class Texts:
    """The texts of records, read where they must be compared."""

    def __init__(self, parts: Sequence[Part], starts: Numbers, facts: NDArray[Any], words: int) -> None:
        self._parts = parts
        self._starts = starts
        self._facts = facts
        self._words = words
        self._reader = WordReader()

    def similarity(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Jaccard similarity of the word shingles of each pair."""
        if not len(pairs):
            return np.zeros(0)
        numbers, places = np.unique(pairs, return_inverse=True)
        shingles: list[set[int]] = []
        for start in range(0, len(numbers), _TEXTS_AT_ONCE):
            lines = read_lines(numbers[start : start + _TEXTS_AT_ONCE], self._starts, self._facts, self._parts)
            grams, ends = self._reader.read([_asked(line) for line in lines]).grams(self._words)
            shingles += [set(part.tolist()) for part in np.split(grams, ends[:-1])]
        left, right = places.reshape(pairs.shape).T
        return np.array(
            [_jaccard(shingles[one], shingles[other]) for one, other in zip(left.tolist(), right.tolist(), strict=True)]
        )


def _asked(line: bytes) -> str:
    record = msgspec.json.decode(line, type=_Record)
    return "\n".join(one.content for one in record.messages if one.role != "assistant")


def _jaccard(one: set[int], other: set[int]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _candidates(values: NDArray[np.uint64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Pairs (earlier, later) that are alive and meet in a band: each with the first and with the one before it."""
    numbers = np.flatnonzero(alive)
    order = numbers[np.argsort(values[numbers], kind="stable")]
    sorted_values = values[order]
    same = np.flatnonzero(sorted_values[1:] == sorted_values[:-1]) + 1
    if not len(same):
        return np.zeros((0, 2), np.int64)
    fresh = np.concatenate(([True], sorted_values[1:] != sorted_values[:-1]))
    firsts = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    pairs = np.concatenate(
        (np.stack((order[firsts[same]], order[same]), 1), np.stack((order[same - 1], order[same]), 1))
    )
    return np.unique(pairs, axis=0)


def _cut(pairs: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        yield pairs[start : start + _PAIRS_AT_ONCE]


def _agreement(parts: Sequence[Part], starts: Numbers, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of equal minima, which estimates the Jaccard similarity."""
    left, right = (_gathered(parts, starts, pairs[:, side]) for side in (0, 1))
    return np.asarray((left == right).mean(axis=1))


def _gathered(parts: Sequence[Part], starts: Numbers, numbers: Numbers) -> NDArray[np.uint16]:
    where = np.searchsorted(starts, numbers, side="right") - 1
    order = np.argsort(where, kind="stable")
    cuts = np.flatnonzero(np.diff(where[order])) + 1
    found: NDArray[np.uint16] | None = None
    for chosen in np.split(order, cuts):
        part = int(where[chosen[0]])
        rows = parts[part].signatures()[numbers[chosen] - starts[part]]
        if found is None:
            found = np.zeros((len(numbers), rows.shape[1]), np.uint16)
        found[chosen] = rows
    assert found is not None
    return found


def _starts(parts: Sequence[Part]) -> Numbers:
    sizes = [part.bands().shape[1] for part in parts]
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64) if sizes else np.zeros(0, np.int64)


def _join(roots: Numbers, pairs: NDArray[np.int64]) -> None:
    for left, right in pairs.tolist():
        first, second = _root(roots, left), _root(roots, right)
        if first != second:
            roots[max(first, second)] = min(first, second)


def _root(roots: Numbers, number: int) -> int:
    while (above := int(roots[number])) != number:
        roots[number] = roots[above]
        number = above
    return number
