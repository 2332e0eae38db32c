"""Puts configurations beside one another: speeds with intervals, break-even, what is best, and what may not count."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.bench import pairing
from engine.bench.cells import Problem, cell_name, problem_path, read_plan, read_provenance, read_records
from engine.bench.chain import ChainPoint, Expectation, expectations
from engine.bench.economics import Economics, Estimate, Savings, economics, savings, tokens_a_day
from engine.bench.equality import Equality, read_equality
from engine.bench.records import BenchError, Load, Plan, Provenance, RequestRecord
from engine.bench.summary import Summary, summarise

FURTHER_STEPS = 2
"""Expected speed-ups are given for so many steps beyond the measured ones."""


ALIKE = (
    "speculative_draft_model_path", "speculative_algorithm", "disable_cuda_graph", "cuda_graph_backend_decode",
    "attention_backend", "dtype", "quantization", "tp_size", "disable_overlap_schedule",
)  # fmt: skip
"""Settings that change the cost of a round: only chains that share them are fitted together."""
DRIFT = 1.1
"""The baseline's rounds may differ by so much before it is said."""


class Subject(msgspec.Struct, frozen=True):
    """One configuration as it lies on disk."""

    label: str
    folder: Path
    plan: Plan
    point: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration under one load."""

    name: str
    summary: Summary
    is_baseline: bool = False
    ratio: Estimate | None = None
    """Speed over the baseline's, paired by prompt."""
    verdict: pairing.Verdict | None = None
    economics: Economics | None = None
    """`None` for the baseline and where nothing was speculated."""
    savings: Savings | None = None
    """Of a day at the baseline's full load."""
    equality: Equality | None = None
    void: str = ""
    best: bool = False
    """The fastest one under this load that counts."""
    pareto: bool = False
    """None that counts is both faster for one user and faster in all."""


class Foretold(msgspec.Struct, frozen=True):
    """Expected speed-ups of one draft for other numbers of steps, under one load."""

    draft: str
    load: str
    steps: tuple[Expectation, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All that a benchmark says."""

    name: str
    baseline: str
    rows: tuple[Row, ...]
    foretold: tuple[Foretold, ...] = ()
    problems: dict[str, Problem] = {}
    """Points that could not be measured."""
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    """What a search says of the next point, for each load."""
    provenance: dict[str, Provenance] = {}


def subjects_of(folder: Path, prefix: str = "") -> list[Subject]:
    """The configurations of one run folder.

    Raises:
        BenchError: It is none.
    """
    plan = read_plan(folder)
    return [Subject(f"{prefix}{point.name}", folder, plan, point.name) for point in plan.points]


def compare_folder(folder: Path) -> Comparison:
    """Everything that one run folder holds so far.

    Raises:
        BenchError: It is none.
    """
    plan = read_plan(folder)
    return compare(plan.name, subjects_of(folder), plan.baseline)


def compare_folders(folders: Sequence[Path]) -> Comparison:
    """Several run folders; the first configuration of the first one is the baseline.

    Raises:
        BenchError: One is none, or they cannot be compared.
    """
    plans = [read_plan(folder) for folder in folders]
    alone = all(len(plan.points) == 1 for plan in plans) and len({plan.name for plan in plans}) == len(plans)
    subjects: list[Subject] = []
    for folder, plan in zip(folders, plans, strict=True):
        for subject in subjects_of(folder, f"{plan.name}/"):
            subjects.append(msgspec.structs.replace(subject, label=plan.name) if alone else subject)
    first = plans[0]
    baseline = f"{first.name}/{first.baseline}" if first.baseline and not alone else subjects[0].label
    return compare(" and ".join(plan.name for plan in plans), subjects, baseline)


def compare(name: str, subjects: Sequence[Subject], baseline: str) -> Comparison:
    """Put configurations beside one another. `baseline` is a label, or empty."""
    reference = next((subject for subject in subjects if subject.label == baseline), None)
    found = {subject.label: read_provenance(subject.folder, subject.point) for subject in subjects}
    provenance = {label: one for label, one in found.items() if one is not None}
    rows: list[Row] = []
    for load in _loads(subjects):
        of_load = [row for subject in subjects if (row := _row(subject, load, reference, provenance)) is not None]
        rows += _marked(of_load)
    front = {(row.name, row.summary.load.name) for row in pareto(rows)}
    rows = [msgspec.structs.replace(row, pareto=(row.name, row.summary.load.name) in front) for row in rows]
    return Comparison(
        name=name,
        baseline=baseline,
        rows=tuple(rows),
        foretold=_foretold(rows, provenance),
        problems={subject.label: problem for subject in subjects if (problem := _problem(subject)) is not None},
        notes=(*_differences(subjects, reference), *(text for row in rows for text in doubts(row))),
        provenance=provenance,
    )


def _loads(subjects: Sequence[Subject]) -> list[Load]:
    named = {load.name: load for subject in subjects for load in subject.plan.loads}
    return sorted(named.values(), key=lambda load: (load.rate is not None, load.rate or load.concurrency or 0))


def _row(subject: Subject, load: Load, reference: Subject | None, provenance: dict[str, Provenance]) -> Row | None:
    summary = summarise(subject.folder, subject.plan, subject.point, load)
    if summary is None:
        return None
    void = provenance[subject.label].void if subject.label in provenance else ""
    row = Row(name=subject.label, summary=summary, void=void)
    if reference is None:
        return row
    if subject == reference:
        return msgspec.structs.replace(row, is_baseline=True)
    own, other = _records(subject, load), _records(reference, load)
    ratio = pairing.paired_ratio(pairing.table(own, pairing.whole), pairing.table(other, pairing.whole))
    return msgspec.structs.replace(
        row,
        ratio=ratio,
        verdict=pairing.verdict(ratio) if ratio is not None else None,
        economics=_economics(summary, own, other),
        savings=_savings(summary, summarise(reference.folder, reference.plan, reference.point, load)),
        equality=read_equality(subject.folder, subject.point),
    )


def _economics(
    summary: Summary, own: Sequence[tuple[int, RequestRecord]], other: Sequence[tuple[int, RequestRecord]]
) -> Economics | None:
    """The baseline's speed is taken as exact, and the paired ratio carries the whole error: it enters once."""
    theirs = pairing.table(other, pairing.decoding)
    ratio = pairing.paired_ratio(pairing.table(own, pairing.decoding), theirs)
    tokens, seconds = (sum(cost[place] for cost in theirs.values()) for place in (0, 1))
    if ratio is None or not seconds or summary.accept_length is None or summary.accept_length.value < 1:
        return None
    base = tokens / seconds
    ends = [None if end is None else end * base for end in (ratio.low, ratio.high)]
    return economics(Estimate(base), Estimate(ratio.value * base, *ends), summary.accept_length)


def _savings(own: Summary, base: Summary | None) -> Savings | None:
    if base is None or base.tokens_per_s is None or own.tokens_per_s is None or own.tokens_per_s.value <= 0:
        return None
    speed = base.tokens_per_s.value
    return savings(tokens_a_day(speed), speed, own.tokens_per_s.value, base.power_w, own.power_w)


def _records(subject: Subject, load: Load) -> list[tuple[int, RequestRecord]]:
    return [
        (repeat, msgspec.structs.replace(record, text=""))
        for repeat in range(subject.plan.repeats)
        for record in read_records(subject.folder, cell_name(subject.point, load, repeat))
    ]


def _marked(rows: Sequence[Row]) -> list[Row]:
    """Say which is best under one load. What is void, was broken off, or was the client's own limit cannot win."""
    counting = [row for row in rows if counts(row)]
    best = max(counting, key=lambda row: _speed(row), default=None)
    return [msgspec.structs.replace(row, best=best is not None and row.name == best.name) for row in rows]


def pareto(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows than which none that counts is better both for one user and in all, over all loads."""
    counting = [row for row in rows if counts(row) and row.summary.decode_tokens_per_s is not None]

    def place(row: Row) -> tuple[float, float]:
        own = row.summary.decode_tokens_per_s
        return _speed(row), own.value if own is not None else 0.0

    return tuple(
        row
        for row in counting
        if not any(
            other[0] >= place(row)[0] and other[1] >= place(row)[1] and other != place(row)
            for other in map(place, counting)
        )
    )


def counts(row: Row) -> bool:
    """Whether a row may be called best."""
    return not row.void and not row.summary.ended_early and row.summary.tokens_per_s is not None


def _speed(row: Row) -> float:
    return row.summary.tokens_per_s.value if row.summary.tokens_per_s is not None else 0.0


def _foretold(rows: Sequence[Row], provenance: dict[str, Provenance]) -> tuple[Foretold, ...]:
    """From all chains (top-k 1) of one draft under one load that count and are good for a cost of a round."""
    points: dict[tuple[tuple[str, ...], str], list[ChainPoint]] = {}
    for row in rows:
        information: dict[str, Any] = provenance[row.name].server_info if row.name in provenance else {}
        steps = information.get("speculative_num_steps")
        if information.get("speculative_eagle_topk") != 1 or not isinstance(steps, int) or steps < 1:
            continue
        if row.economics is not None and row.summary.accept_rates and counts(row):
            rates, found = row.summary.accept_rates[:steps], row.economics
            chain = ChainPoint(steps, found.round_cost, rates, found.speedup)
            alike = tuple(str(information.get(name)) for name in ALIKE)
            points.setdefault((alike, row.summary.load.name), []).append(chain)
    return tuple(
        Foretold(
            alike[0], load, expectations(chains, range(1, max(one.num_steps for one in chains) + FURTHER_STEPS + 1))
        )
        for (alike, load), chains in points.items()
    )


def _problem(subject: Subject) -> Problem | None:
    try:
        return msgspec.json.decode(problem_path(subject.folder, subject.point).read_bytes(), type=Problem)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise BenchError(f"{subject.point}: its problem cannot be read: {error}", "measure it again") from error


def _differences(subjects: Sequence[Subject], reference: Subject | None) -> list[str]:
    found = []
    for subject in subjects if reference is not None else ():
        assert reference is not None
        if subject.plan.prompts != reference.plan.prompts:
            found.append(f"{subject.label}: other prompts than the baseline's; only equal ids are paired")
        if subject.plan.sampling != reference.plan.sampling:
            found.append(f"{subject.label}: other sampling than the baseline's: not comparable")
    return found


def doubts(row: Row) -> list[str]:
    """Why one row may not mean what it seems to."""
    summary, speeds = row.summary, row.summary.tokens_per_s_by_repeat
    found = []
    if row.economics is not None and row.economics.round_cost.value < 1:
        found.append("a round cannot cost less than a plain step: the baseline was slowed, or differs")
    if row.is_baseline and min(speeds, default=0) > 0 and max(speeds) > DRIFT * min(speeds):
        rounds = ", ".join(f"{speed:.1f}" for speed in speeds)
        found.append(f"the machine was not steady: the baseline's rounds gave {rounds} tok/s")
    if summary.client_limit:
        found.append(f"the client was the limit: {summary.client_limit}")
    if summary.failures:
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.failures.items()))
        found.append(f"{counted} of {summary.requests} requests failed: {summary.first_failure}")
    if summary.ended_early:
        found.append(f"broken off: {summary.ended_early}")
    if summary.clock_step_s:
        found.append(f"the clock was set by {summary.clock_step_s:+.0f} s meanwhile; times are monotonic")
    if not summary.counted_by_server:
        found.append("the server counts no tokens; pieces of the stream stand for them")
    return [f"{row.name} {summary.load.name}: {text}" for text in found]
