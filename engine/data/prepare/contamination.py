"""Finds copies of benchmark prompts by the n-grams that they share with a record."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.data.catalogue.benchmarks import sources_of
from engine.data.plan.records import PlanError
from engine.data.prepare.words import WordReader, Words
from engine.data.records import BadRow, Mapping, Source, SourceError, Unusable
from engine.data.shapes.convert import to_prompt
from engine.data.shapes.recognise import ROWS_LOOKED_AT, recognise
from engine.data.sources.rows import named_source, read_rows

COMMON_IN = 5
"""An n-gram that stands in more prompts of one benchmark is boilerplate. Translations of a problem are many
benchmarks."""


class BenchmarkPrompt(msgspec.Struct, frozen=True):
    """A prompt that must not be trained on."""

    benchmark: str
    name: str
    text: str


class Copy(msgspec.Struct, frozen=True):
    """A record that holds a benchmark's prompt."""

    prompt: str
    share: float
    """Of the prompt's n-grams."""


class BenchmarkIndex:
    """Which prompts each n-gram belongs to."""

    def __init__(self, prompts: Sequence[BenchmarkPrompt], size: int, overlap: float) -> None:
        self.prompts = prompts
        self.size = size
        self.overlap = overlap
        grams, ends = WordReader().read([one.text for one in prompts]).grams(size)
        owners = np.repeat(np.arange(len(prompts)), np.diff(np.concatenate(([0], ends))))
        pairs = np.unique(np.stack((grams, owners.astype(np.uint64))), axis=1) if len(prompts) else np.zeros((2, 0))
        self._grams, self._first, counts = np.unique(pairs[0].astype(np.uint64), return_index=True, return_counts=True)
        self._owners = pairs[1].astype(np.int64)
        self._counts = counts
        self._telling = self._in_one_benchmark() <= COMMON_IN
        telling = np.repeat(self._telling, counts)
        self._sizes = np.bincount(self._owners[telling], minlength=len(prompts))

    def copies(self, words: Words) -> dict[int, Copy]:
        """Text's number to what it is a copy of."""
        grams, ends = words.grams(self.size)
        if not len(self._grams) or not len(grams):
            return {}
        places = np.minimum(np.searchsorted(self._grams, grams), len(self._grams) - 1)
        hits = np.flatnonzero((self._grams[places] == grams) & self._telling[places])
        found: dict[int, Copy] = {}
        for text, chosen in _by_text(hits, ends):
            copy = self._copy(set(places[chosen].tolist()))
            if copy is not None:
                found[text] = copy
        return found

    def _in_one_benchmark(self) -> NDArray[np.int64]:
        """In how many prompts of the benchmark that uses it most each n-gram stands."""
        names = sorted({one.benchmark for one in self.prompts})
        groups = np.array([names.index(one.benchmark) for one in self.prompts], np.int64)
        keys = np.repeat(np.arange(len(self._grams)), self._counts) * max(len(names), 1) + groups[self._owners]
        found, counts = np.unique(keys, return_counts=True)
        most = np.zeros(len(self._grams), np.int64)
        np.maximum.at(most, found // max(len(names), 1), counts)
        return most

    def _copy(self, places: Iterable[int]) -> Copy | None:
        shared: Counter[int] = Counter()
        for place in places:
            shared.update(self._owners[self._first[place] : self._first[place] + self._counts[place]].tolist())
        share, owner = max((count / self._sizes[owner], -owner) for owner, count in shared.items())
        return Copy(self.prompts[-owner].name, round(float(share), 3)) if share >= self.overlap else None


def benchmark_prompts(names: Sequence[str]) -> Iterator[BenchmarkPrompt]:
    """The prompts of files, hub ids, or benchmarks that are known by name; each user turn counts as one.

    Raises:
        PlanError: One cannot be read, or has no prompt that can be found.
    """
    for name in names:
        known = [] if Path(name).exists() else sources_of(name)
        try:
            found = [prompt for source, mapping in known for prompt in _prompts_of(source, mapping)]
            found = found or list(_prompts_of(named_source(name), None))
        except SourceError as error:
            raise PlanError(f"decontamination.benchmarks: {name}: {error}", error.remedy) from error
        if not found:
            raise PlanError(f"decontamination.benchmarks: {name} holds no prompt", f"see it: alula data show {name}")
        yield from found


def _prompts_of(source: Source, mapping: Mapping | None) -> Iterator[BenchmarkPrompt]:
    rows = [row for row in read_rows(source) if not isinstance(row, BadRow)]
    chosen = mapping or recognise(rows[:ROWS_LOOKED_AT]).mapping
    for number, row in enumerate(rows):
        try:
            prompt = to_prompt(row, chosen)
        except Unusable:
            continue
        name = f"{Path(source.label).name} {prompt.id or number}"
        yield from (BenchmarkPrompt(source.label, name, one.content) for one in prompt.messages if one.role == "user")


def _by_text(hits: NDArray[np.int64], ends: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    texts = np.searchsorted(ends, hits, side="right")
    for text in np.unique(texts):
        yield int(text), hits[texts == text]
