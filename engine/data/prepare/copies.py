"""Which records are copies of an earlier one: equal texts, and texts whose signatures agree.

Records are numbered through all parts in the plan's order, so that the earlier source keeps its record.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.prepare.parts import Part

Numbers = NDArray[np.int64]
_PAIRS_AT_ONCE = 50_000
KEPT = -1


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
    parts: Sequence[Part], alive: NDArray[np.bool_], similarity: float, tell: Callable[[str], None]
) -> Numbers:
    """For each record that is alive the first of its cluster of near-duplicates, or -1 where it is that itself."""
    starts = _starts(parts)
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
            similar = _agreement(parts, starts, chosen) >= similarity
            _join(roots, chosen[similar])
    found = np.full(len(alive), KEPT, np.int64)
    for number in np.flatnonzero(roots != np.arange(len(roots))).tolist():
        found[number] = _root(roots, number)
    return found


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
