"""From all parts to the mix: copies removed, each source's share, an order by the seed."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.data.plan.records import Plan
from engine.data.plan.shares import shares
from engine.data.prepare.copies import KEPT, Numbers, exact_copies, near_copies
from engine.data.prepare.parts import Part

COPY_SAMPLES = 5


class CopySample(msgspec.Struct, frozen=True):
    """A record that was left out as a copy, and the one that was kept."""

    kind: str
    kept: int
    left_out: int


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """What is written, in order; records are numbered through all parts."""

    order: Any
    """Numbers of the records, in the order of the shards; those in tokens are not among them."""
    native: Any
    """Numbers of the records in tokens, in their order."""
    facts: Any
    sources: Any
    """Index in the plan of each record's source."""
    starts: Any
    """The first number of each part."""
    steps: dict[str, dict[str, int]]
    """Step to source to records left."""
    languages: dict[str, dict[str, int]]
    """Source to language to records of the mix."""
    available: dict[str, int]
    taken: dict[str, int]
    copies: tuple[CopySample, ...]


def make_mix(plan: Plan, parts: Sequence[Part], tell: Callable[[str], None]) -> Mix:
    """Choose the records and their order. The same parts and plan give the same mix."""
    facts = np.concatenate([part.facts() for part in parts])
    sizes = [len(part.facts()) for part in parts]
    sources = np.repeat([part.source for part in parts], sizes).astype(np.int64)
    alive = np.ones(len(facts), bool)
    samples: list[CopySample] = []
    steps: dict[str, dict[str, int]] = {}
    if plan.duplicates.exact:
        tell("looking for equal records")
        _remove(alive, exact_copies(facts), "exact", samples)
        steps["exact duplicates"] = _by_source(plan, sources, alive)
    if plan.duplicates.near:
        plain = [part for part in parts if not plan.source[part.source].native]
        places = np.isin(sources, [part.source for part in plain])
        copies = np.full(len(facts), KEPT, np.int64)
        numbers = np.flatnonzero(places)
        found = near_copies(plain, facts[numbers], alive[numbers], plan.duplicates, tell)
        copies[numbers] = np.where(found == KEPT, KEPT, numbers[np.maximum(found, 0)])
        _remove(alive, copies, "near", samples)
        steps["near-duplicates"] = _by_source(plan, sources, alive)
    available = _by_source(plan, sources, alive)
    taken = shares(plan.source, available, plan.total)
    chosen = _chosen(plan, facts, sources, alive, taken)
    steps["mix"] = taken
    is_native = (
        np.array([one.native for one in plan.source], bool)[sources[chosen]] if len(chosen) else chosen != chosen
    )
    return Mix(
        order=chosen[~is_native],
        native=np.sort(chosen[is_native]),
        facts=facts,
        sources=sources,
        starts=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64),
        steps=steps,
        languages=_languages(plan, facts[chosen], sources[chosen]),
        available=available,
        taken=taken,
        copies=tuple(samples),
    )


def _remove(alive: NDArray[np.bool_], copies: Numbers, kind: str, samples: list[CopySample]) -> None:
    gone = np.flatnonzero(alive & (copies != KEPT))
    alive[gone] = False
    samples += [CopySample(kind, int(copies[number]), int(number)) for number in gone[:COPY_SAMPLES]]


def _by_source(plan: Plan, sources: Numbers, alive: NDArray[np.bool_]) -> dict[str, int]:
    counts = np.bincount(sources[alive], minlength=len(plan.source))
    return {one.name: int(count) for one, count in zip(plan.source, counts, strict=True)}


def _chosen(
    plan: Plan, facts: NDArray[Any], sources: Numbers, alive: NDArray[np.bool_], taken: dict[str, int]
) -> Numbers:
    """The records of the mix, in the order of a hash of their text and the seed."""
    keys = _keys(facts["low"], plan.seed)
    kept = []
    for index, one in enumerate(plan.source):
        numbers = np.flatnonzero(alive & (sources == index))
        kept.append(numbers[np.lexsort((numbers, keys[numbers]))][: taken[one.name]])
    numbers = np.concatenate(kept)
    return np.asarray(numbers[np.lexsort((numbers, keys[numbers]))])


def _keys(low: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64 of text and seed: the same order on every machine and with every numpy."""
    values = low + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _languages(plan: Plan, facts: NDArray[Any], sources: Numbers) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for index, one in enumerate(plan.source):
        counts = Counter(facts["language"][sources == index].tolist())
        found[one.name] = {
            name.decode(): count for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        }
    return found
