"""What a preparation tells of its output. It holds no times and no counts that depend on how often it was stopped."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from engine.data.plan.records import Plan
from engine.data.prepare.filtering import STEPS
from engine.data.prepare.mixing import Mix
from engine.data.prepare.parts import Part, Sample, Tally, read_lines
from engine.data.prepare.shards import Shard
from engine.data.prepare.work import SourceState
from state.records.data import DataShare, FunnelStep
from state.version import VERSION

MANIFEST = "manifest.json"
_SAMPLES = 5
_LIBRARIES = ("rensa", "py3langid", "tokenizers", "numpy", "xxhash")
_EXCERPT = 300


class SourceEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A source in the manifest."""

    name: str
    domain: str
    read_from: str
    revision: str | None
    sha256: str | None
    shape: str | None
    mapping: dict[str, str]
    licence: str | None
    rows: int
    left: dict[str, int]
    """Step to records left after it."""
    dropped: dict[str, int]
    """Reason to count."""
    languages: dict[str, int]
    """Of its records in the mix."""
    skipped: str | None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was made, from what, and what was left out."""

    name: str
    records: int
    native_records: int
    seed: int
    plan_sha256: str
    plan: Plan
    made_with: dict[str, str]
    lengths: str
    benchmark_prompts: int
    funnel: tuple[FunnelStep, ...]
    domains: dict[str, int]
    languages: dict[str, int]
    licences: dict[str, int]
    sources: tuple[SourceEntry, ...]
    samples: dict[str, list[Sample]]
    """Reason to the first records that were left out for it."""
    copies: list[dict[str, str]]
    """Some records that were left out as copies, beside those that were kept."""
    shards: tuple[Shard, ...]


class Counts:
    """Tallies of all parts, added up in the order of the parts."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.rows: Counter[str] = Counter()
        self.steps: dict[str, Counter[str]] = {step: Counter() for step in STEPS}
        self.dropped: dict[str, dict[str, Counter[str]]] = {}
        """Step to reason to source."""
        self.samples: dict[str, list[Sample]] = {}

    def add(self, source: int, tally: Tally) -> None:
        """Add a part."""
        name = self._plan.source[source].name
        self.rows[name] += tally.rows
        for step, left in tally.steps.items():
            self.steps[step][name] += left
        for step, reasons in tally.dropped.items():
            for reason, count in reasons.items():
                self.dropped.setdefault(step, {}).setdefault(reason, Counter())[name] += count
        for reason, samples in tally.samples.items():
            kept = self.samples.setdefault(reason, [])
            kept += samples[: _SAMPLES - len(kept)]

    def funnel(self) -> tuple[FunnelStep, ...]:
        """What is left after each step so far."""
        rows = FunnelStep("rows", self.rows.total())
        return (rows, *(FunnelStep(step, left.total(), self._reasons(step)) for step, left in self.steps.items()))

    def reasons_of(self, name: str) -> dict[str, int]:
        """Reason to count of one source."""
        found: Counter[str] = Counter()
        for reasons in self.dropped.values():
            for reason, counts in reasons.items():
                found[reason] += counts[name]
        return {reason: count for reason, count in sorted(found.items()) if count}

    def _reasons(self, step: str) -> dict[str, int]:
        return {reason: counts.total() for reason, counts in sorted(self.dropped.get(step, {}).items())}


def funnel_of(counts: Counts, mix: Mix) -> tuple[FunnelStep, ...]:
    """All steps, those over the whole included."""
    found = list(counts.funnel())
    for step, left in mix.steps.items():
        whole = sum(left.values())
        gone = found[-1].left - whole
        reason = {"exact duplicates": "exact_duplicate", "near-duplicates": "near_duplicate"}.get(step, "over_quota")
        found.append(FunnelStep(step, whole, {reason: gone} if gone else {}))
    return tuple(found)


def shares_of(plan: Plan, mix: Mix) -> tuple[DataShare, ...]:
    """Each source's part of the mix, wanted and had."""
    weights = sum(one.weight or 0 for one in plan.source if one.quota is None)
    rest = (plan.total or 0) - sum(one.quota or 0 for one in plan.source)
    found = []
    for one in plan.source:
        wanted = one.quota
        if wanted is None and plan.total is not None and one.weight is not None and weights:
            wanted = round(max(rest, 0) * one.weight / weights)
        found.append(DataShare(one.name, one.domain, wanted, mix.available[one.name], mix.taken[one.name]))
    return tuple(found)


def make_manifest(
    plan: Plan, states: Sequence[SourceState], counts: Counts, mix: Mix, parts: Sequence[Part],
    shards: tuple[Shard, ...], benchmark_prompts: int,
) -> Manifest:  # fmt: skip
    """The manifest of a mix that is written."""
    domains: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    licences: Counter[str] = Counter()
    for one, state in zip(plan.source, states, strict=True):
        domains[one.domain] += mix.taken[one.name]
        languages.update(mix.languages[one.name])
        named = f"named in each record ({one.name})" if state.mapping.licence else "not known"
        licences[one.licence or named] += mix.taken[one.name]
    return Manifest(
        name=plan.name,
        records=len(mix.order),
        native_records=len(mix.native),
        seed=plan.seed,
        plan_sha256=hashlib.sha256(msgspec.json.encode(plan)).hexdigest(),
        plan=plan,
        made_with={"alula": VERSION, **{name: version(name) for name in _LIBRARIES}},
        lengths=_lengths(plan),
        benchmark_prompts=benchmark_prompts,
        funnel=funnel_of(counts, mix),
        domains=_sorted(domains),
        languages=_sorted(languages),
        licences=_sorted(licences),
        sources=tuple(_entry(plan, number, state, counts, mix) for number, state in enumerate(states)),
        samples=counts.samples,
        copies=_copies(mix, parts),
        shards=shards,
    )


def brief(manifest: Manifest) -> dict[str, Any]:
    """What the state database keeps of it."""
    names = ("records", "native_records", "seed", "plan_sha256", "lengths", "benchmark_prompts", "domains", "languages")
    return {name: getattr(manifest, name) for name in (*names, "licences")}


def _entry(plan: Plan, number: int, state: SourceState, counts: Counts, mix: Mix) -> SourceEntry:
    one = plan.source[number]
    steps = {**counts.steps, **{step: Counter(left) for step, left in mix.steps.items()}}
    return SourceEntry(
        name=one.name,
        domain=one.domain,
        read_from=state.source.label,
        revision=state.source.revision,
        sha256=_sha256(state.source.path) if state.skipped is None else None,
        shape=state.shape,
        mapping=msgspec.to_builtins(state.mapping),
        licence=one.licence,
        rows=counts.rows[one.name],
        left={step: left[one.name] for step, left in steps.items()},
        dropped=counts.reasons_of(one.name),
        languages=mix.languages[one.name],
        skipped=state.skipped,
    )


def _copies(mix: Mix, parts: Sequence[Part]) -> list[dict[str, str]]:
    import numpy as np

    numbers = np.array([number for one in mix.copies for number in (one.kept, one.left_out)], np.int64)
    lines = [line[:_EXCERPT].decode(errors="replace") for line in read_lines(numbers, mix.starts, mix.facts, parts)]
    return [
        {"kind": one.kind, "kept": lines[2 * place], "left_out": lines[2 * place + 1]}
        for place, one in enumerate(mix.copies)
    ]


def _lengths(plan: Plan) -> str:
    if plan.target.tokenizer is not None:
        return f"tokens of {plan.target.tokenizer}, without a chat template"
    if plan.target.characters_per_token is not None:
        return f"estimated: one token for {plan.target.characters_per_token} characters"
    return "not measured: the plan names no tokenizer"


def _sha256(path: str | None) -> str | None:
    if path is None:
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count}
