"""Words of many texts as numbers, and hashes of their n-grams, in whole arrays."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[^\W_{_IDEOGRAPHS}]+|[{_IDEOGRAPHS}]")
"""Writing without blanks counts by its characters."""
_MOST_KNOWN = 500_000
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


class _Known(dict[str, int]):
    """Hash of each word that was seen."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        value = self[word] = xxhash.xxh3_64_intdigest(word.encode(errors="replace"))
        return value


class Words:
    """The words of a batch of texts, one after the other."""

    def __init__(self, hashes: Hashes, ends: NDArray[np.int64]) -> None:
        self.hashes = hashes
        self.ends = ends
        """Where each text ends in `hashes`."""

    def chosen(self, numbers: Sequence[int]) -> "Words":
        """The words of some of the texts."""
        starts = np.concatenate(([0], self.ends[:-1])).astype(np.int64)
        parts = [self.hashes[starts[number] : self.ends[number]] for number in numbers]
        lengths = np.array([len(part) for part in parts], np.int64)
        return Words(np.concatenate(parts) if parts else np.zeros(0, np.uint64), np.cumsum(lengths))

    def grams(self, size: int) -> tuple[Hashes, NDArray[np.int64]]:
        """Hashes of all n-grams, and where each text's end. A text of fewer words is one n-gram of all of them."""
        starts = np.concatenate(([0], self.ends[:-1])).astype(np.int64)
        lengths = self.ends - starts
        counts = np.maximum(lengths - size + 1, 1)
        ends = np.cumsum(counts)
        first = (
            np.repeat(starts, counts) + np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
        )
        limit = np.repeat(self.ends, counts)
        padded = np.concatenate((self.hashes, np.zeros(size, np.uint64)))
        found = np.full(len(first), np.uint64(size), np.uint64)
        for step in range(size):
            place = first + step
            found = found * _STEP + np.where(place < limit, padded[np.minimum(place, len(self.hashes))], np.uint64(0))
        return _mixed(found), ends


class WordReader:
    """Splits texts into words. It remembers words, so one reader should serve many batches."""

    def __init__(self) -> None:
        self._known: Any = _Known()

    def read(self, texts: Sequence[str]) -> Words:
        """The words of each text, without case."""
        lookup = self._known.__getitem__
        flat: list[int] = []
        ends = np.zeros(len(texts), np.int64)
        for index, text in enumerate(texts):
            flat.extend(map(lookup, _WORD.findall(text.casefold())))
            ends[index] = len(flat)
        return Words(np.array(flat, np.uint64), ends)


def _mixed(values: Hashes) -> Hashes:
    values = (values ^ (values >> np.uint64(31))) * _MIX
    return values ^ (values >> np.uint64(29))
