"""The search for the best configuration on a run folder: what its files say, and what to measure next."""

from collections.abc import Sequence, Set
from pathlib import Path

import msgspec

from engine.bench.cells import read_plan
from engine.bench.comparison import ALIKE, Comparison, Row, compare_folder, counts
from engine.bench.plans import command_flag
from engine.bench.records import Plan, Point, Provenance
from engine.bench.tune import Advice, Candidate, Measured, advise

LENGTH_FLAGS = ("--speculative-num-steps", "--speculative-num-draft-tokens")
FURTHER_STEPS = 2
"""Of a draft that runs already, chains longer by so many steps are thought of too."""


def tuned(folder: Path) -> Comparison:
    """All that a run folder holds, and where the plan is a search, what that says.

    Raises:
        BenchError: It is none.
    """
    plan, found = read_plan(folder), compare_folder(folder)
    if plan.kind != "tune":
        return found
    said = tuple(advice_words(one) for one in advices(plan, found))
    return msgspec.structs.replace(found, advice=said)


def advices(
    plan: Plan, found: Comparison, tried: Set[str] = frozenset(), gain: float | None = None
) -> tuple[Advice, ...]:
    """What to do next, for each load. `tried` names points that need no second try; `gain` stands for the plan's."""
    candidates = candidates_of(plan, found)
    gain = plan.gain if gain is None else gain
    return tuple(_advice(load.name, plan, found, candidates, tried, gain) for load in plan.loads)


def first_advices(plan: Plan, gain: float) -> tuple[Advice, ...]:
    """What to do where nothing is measured yet."""
    return advices(plan, Comparison(name=plan.name, baseline=plan.baseline, rows=()), gain=gain)


def next_point(plan: Plan, found: Comparison, tried: Set[str]) -> Point | None:
    """The point to measure now; `None` once the search is over. The baseline comes first."""
    points = {point.name: point for point in plan.points}
    if plan.baseline and plan.baseline not in tried and not _is_measured(plan, found, plan.baseline):
        return points[plan.baseline]
    wanted = (one.next for one in advices(plan, found, tried) if one.next in points)
    return points.get(next(wanted, ""))


def advice_words(advice: Advice) -> str:
    """One sentence."""
    return f"{advice.load}: next {advice.next}: {advice.why}" if advice.next else f"{advice.load}: done: {advice.why}"


def candidates_of(plan: Plan, found: Comparison) -> tuple[Candidate, ...]:
    """All points but the baseline; for servers that run already, chains of other lengths as well."""
    made = [
        _of_command(point) if point.command else _of_server(point.name, found.provenance.get(point.name))
        for point in plan.points
        if point.name != plan.baseline
    ]
    return (*made, *_further(plan, made))


def _further(plan: Plan, made: Sequence[Candidate]) -> list[Candidate]:
    """Chains that nobody has started yet, beside those that run already."""
    running = {point.name for point in plan.points if point.url}
    further: dict[tuple[tuple[str, ...], int], Candidate] = {}
    for one in made:
        if one.name not in running or not one.is_chain or not one.num_steps:
            continue
        taken = {other.num_steps for other in made if other.family == one.family}
        for steps in set(range(1, one.num_steps + FURTHER_STEPS + 1)) - taken:
            name = f"{one.family[0] or 'the draft'} with num-steps {steps}"
            further[one.family, steps] = Candidate(name=name, family=one.family, num_steps=steps)
    return list(further.values())


def _of_command(point: Point) -> Candidate:
    words = point.command
    steps, topk = (command_flag(words, flag) for flag in ("--speculative-num-steps", "--speculative-eagle-topk"))
    kept: list[str] = []
    skipping = False
    for word in words:
        is_length = word.split("=", 1)[0] in LENGTH_FLAGS
        if not is_length and not skipping:
            kept.append(word)
        skipping = is_length and "=" not in word
    return Candidate(
        name=point.name,
        family=(*kept, *(f"{name}={value}" for name, value in sorted(point.environment.items()))),
        num_steps=int(steps) if steps.isdigit() else point.num_steps,
        topk=int(topk) if topk.isdigit() else 1,
    )


def _of_server(name: str, provenance: Provenance | None) -> Candidate:
    information = provenance.server_info if provenance is not None else {}
    steps, topk = information.get("speculative_num_steps"), information.get("speculative_eagle_topk")
    return Candidate(
        name=name,
        family=tuple(str(information.get(key) or "") for key in ALIKE),
        num_steps=steps if isinstance(steps, int) and steps > 0 else None,
        topk=topk if isinstance(topk, int) and topk > 0 else 1,
    )


def _advice(
    load: str, plan: Plan, found: Comparison, candidates: Sequence[Candidate], tried: Set[str], gain: float
) -> Advice:
    rows = {row.name: row for row in found.rows if row.summary.load.name == load}
    if plan.baseline not in rows:
        why = "every other one is compared with it" if plan.baseline else "name a baseline, which all are compared with"
        return Advice(load=load, next=plan.baseline, why=why, best="", best_speedup=1.0, outlooks=())
    measured = {
        name: one for name, row in rows.items() if counts(row) and (one := _measured(row, found)) is not None
    }  # fmt: skip
    in_vain = (set(rows) | set(found.problems) | tried) - set(measured)
    return advise(load, candidates, measured, in_vain, gain)


def _measured(row: Row, found: Comparison) -> Measured | None:
    if row.is_baseline:
        return None
    if row.economics is not None:
        economics = row.economics
        return Measured(
            speedup=economics.speedup, round_cost=economics.round_cost, accept_rates=row.summary.accept_rates
        )
    return Measured(speedup=row.ratio) if row.ratio is not None else None


def _is_measured(plan: Plan, found: Comparison, name: str) -> bool:
    return {row.summary.load.name for row in found.rows if row.name == name} >= {load.name for load in plan.loads}
