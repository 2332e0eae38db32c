"""Which configuration to measure next, and when no untried one can win. Plain functions of what was measured.

A chain's accept rates by position hold for every shorter chain, and its costs are a line in its length (`chain.py`): so
one chain foretells its whole family, that is all that differ from it in nothing but length. The longest one comes
first, since it tells the rates at all positions. Then comes whichever might be fastest at the upper end of its
interval, until no upper end lies above the best that was measured. Nothing foretells a tree (top-k above 1) or a
family with nothing measured: those are tried.
"""

from collections.abc import Mapping, Sequence, Set

import msgspec

from engine.bench.chain import ChainPoint, Expectation, expectations
from engine.bench.economics import Estimate

GAIN = 0.02
"""A point that can be faster by no more than this share is not worth a launch."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration that may be measured."""

    name: str
    family: tuple[str, ...]
    """All that tells it from others, but the chain's length."""
    num_steps: int | None = None
    """`None` where it does not speculate with a draft."""
    topk: int = 1

    @property
    def is_chain(self) -> bool:
        """Whether a chain of the same family foretells it."""
        return self.num_steps is not None and self.topk == 1


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one configuration gave."""

    speedup: Estimate
    round_cost: Estimate | None = None
    accept_rates: tuple[Estimate, ...] = ()


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one configuration."""

    name: str
    num_steps: int | None
    speedup: Estimate | None
    """Measured or foretold; `None` where nothing tells it."""
    is_chain: bool = True
    measured: bool = False
    given_up: bool = False
    """It was tried, and gave nothing that counts."""

    @property
    def most(self) -> float:
        """The upper end of its speed-up; infinite where nothing is known."""
        if self.speedup is None:
            return float("inf")
        return self.speedup.value if self.speedup.high is None else self.speedup.high


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next under one load."""

    load: str
    next: str
    """The configuration to measure; empty where the search is over."""
    why: str
    best: str
    """The fastest that was measured; empty where that is the baseline."""
    best_speedup: float
    outlooks: tuple[Outlook, ...]


def advise(
    load: str,
    candidates: Sequence[Candidate],
    measured: Mapping[str, Measured],
    given_up: Set[str] = frozenset(),
    gain: float = GAIN,
) -> Advice:
    """What to measure next under one load, or why nothing more.

    Args:
        load: Its name.
        candidates: All that may be measured, without the baseline.
        measured: What those gave that were measured and count.
        given_up: Those that were tried in vain, or are void.
        gain: The least advantage that is worth a launch, as a share.
    """
    outlooks = _outlooks(candidates, measured, given_up)
    best, fastest = "", 1.0
    for name, found in measured.items():
        if found.speedup.value > fastest:
            best, fastest = name, found.speedup.value
    untried = [one for one in outlooks if not one.measured and not one.given_up]
    hopeful = [one for one in untried if one.most > fastest * (1 + gain)]
    chosen = max(hopeful, key=lambda one: (one.most, one.num_steps or 0), default=None)
    return Advice(
        load=load,
        next=chosen.name if chosen is not None else "",
        why=_reason(chosen, best, fastest) if chosen is not None else _end(untried, best, fastest, gain),
        best=best,
        best_speedup=fastest,
        outlooks=outlooks,
    )


def _outlooks(
    candidates: Sequence[Candidate], measured: Mapping[str, Measured], given_up: Set[str]
) -> tuple[Outlook, ...]:
    families: dict[tuple[str, ...], list[Candidate]] = {}
    for one in candidates:
        families.setdefault(one.family, []).append(one)
    foretold: dict[str, Estimate] = {}
    for family in families.values():
        foretold |= _foretold([one for one in family if one.is_chain], measured)
    return tuple(
        Outlook(
            name=one.name,
            num_steps=one.num_steps,
            speedup=measured[one.name].speedup if one.name in measured else foretold.get(one.name),
            is_chain=one.is_chain,
            measured=one.name in measured,
            given_up=one.name in given_up,
        )
        for one in candidates
    )


def _foretold(chains: Sequence[Candidate], measured: Mapping[str, Measured]) -> dict[str, Estimate]:
    """Speed-ups of the chains of one family by those of them that were measured."""
    known = [
        ChainPoint(one.num_steps, found.round_cost, found.accept_rates[: one.num_steps], found.speedup)
        for one in chains
        if one.num_steps and (found := measured.get(one.name)) and found.round_cost and found.accept_rates
    ]
    if not known:
        return {}
    steps = sorted({one.num_steps for one in chains if one.num_steps})
    by_steps: dict[int, Expectation] = {one.num_steps: one for one in expectations(known, steps)}
    return {one.name: by_steps[one.num_steps].speedup for one in chains if one.num_steps}


def _reason(chosen: Outlook, best: str, fastest: float) -> str:
    if chosen.speedup is None:
        longest = "the longest chain first, whose accept rates tell those of all shorter ones"
        return f"nothing foretells it; {longest if chosen.is_chain else 'it has to be tried'}"
    low = chosen.speedup.low if chosen.speedup.low is not None else chosen.speedup.value
    against = f"{best}'s {fastest:.2f}x" if best else "the baseline"
    return f"foretold {chosen.speedup.value:.2f}x ({low:.2f} to {chosen.most:.2f}), which may beat {against}"


def _end(untried: Sequence[Outlook], best: str, fastest: float, gain: float) -> str:
    found = f"{best} is best with {fastest:.2f}x" if best else "nothing beats the baseline"
    if not untried:
        return f"{found}; every configuration was tried"
    nearest = max(untried, key=lambda one: one.most)
    return (
        f"{found}; of {len(untried)} untried the most hopeful, {nearest.name}, reaches {nearest.most:.2f}x at most: "
        f"none can be faster by more than {gain * 100:.0f} %"
    )
