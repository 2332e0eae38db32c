"""Changes to a plan's shares, as the plan editor makes them."""

import msgspec

from engine.data.plan.records import Plan, PlanSource
from engine.data.plan.shares import parts_by_weight
from state.records.data import PlanPart


def parts_of_plan(plan: Plan) -> tuple[PlanPart, ...]:
    """What each source is to give, in the plan's order. What a source lacks is known only when it was read."""
    quotas = sum(one.quota or 0 for one in plan.source)
    weights = _weights(plan)
    records = parts_by_weight(max(0, plan.total - quotas), weights) if plan.total is not None and weights else {}
    return tuple(_part(plan, one, records.get(one.name)) for one in plan.source)


def with_share(plan: Plan, name: str, share: float) -> Plan:
    """Give a source this share of what the weights divide; the others keep their proportions.

    Raises:
        KeyError: The source is not divided by weight.
    """
    weights = _weights(plan)
    whole = sum(weights.values()) or 1.0
    rest = whole - weights[name]
    share = min(max(share, 0.0), 1.0)
    if len(weights) == 1:
        return plan
    others = [other for other in weights if other != name]
    changed = {other: (1 - share) * (weights[other] / rest if rest else 1 / len(others)) for other in others} | {
        name: share
    }
    return msgspec.structs.replace(
        plan,
        source=tuple(
            msgspec.structs.replace(one, weight=round(changed[one.name], 4)) if one.name in changed else one
            for one in plan.source
        ),
    )


def with_total(plan: Plan, total: int | None) -> Plan:
    """Another number of records; without one there are no weights."""
    if total is not None:
        return msgspec.structs.replace(plan, total=total)
    sources = tuple(msgspec.structs.replace(one, weight=None) for one in plan.source)
    return msgspec.structs.replace(plan, total=None, source=sources)


def without(plan: Plan, name: str) -> Plan:
    """The plan without a source."""
    return msgspec.structs.replace(plan, source=tuple(one for one in plan.source if one.name != name))


def share_of(plan: Plan, name: str) -> float | None:
    """A source's share of what the weights divide; `None` where it has a quota."""
    weights = _weights(plan)
    whole = sum(weights.values())
    return weights[name] / whole if name in weights and whole else None


def _weights(plan: Plan) -> dict[str, float]:
    return {one.name: 1.0 if one.weight is None else one.weight for one in plan.source if one.quota is None}


def _part(plan: Plan, one: PlanSource, divided: int | None) -> PlanPart:
    records = one.quota if one.quota is not None else divided
    return PlanPart(
        name=one.name,
        domain=one.domain,
        read_from=one.source().label,
        records=records,
        share=records / plan.total if records is not None and plan.total else None,
        by="quota" if one.quota is not None else "all" if plan.total is None else "weight",
    )
