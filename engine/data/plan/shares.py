"""How many records each source gives to the mix."""

from collections.abc import Mapping, Sequence

from engine.data.plan.records import PlanSource


def shares(sources: Sequence[PlanSource], available: Mapping[str, int], total: int | None) -> dict[str, int]:
    """Records of each source. What a source lacks of its part is given by the others, by weight.

    Args:
        sources: In the plan's order.
        available: Source to its records that passed every step.
        total: Records of the mix; `None` takes all that have no quota.
    """
    taken = {
        one.name: min(one.quota if one.quota is not None else available[one.name], available[one.name])
        for one in sources
        if one.quota is not None or total is None
    }
    if total is None:
        return taken
    left = max(0, total - sum(taken.values()))
    open_sources = {one.name: 1.0 if one.weight is None else one.weight for one in sources if one.name not in taken}
    taken.update(_poured(left, open_sources, available))
    return {one.name: taken[one.name] for one in sources}


def _poured(total: int, weights: dict[str, float], available: Mapping[str, int]) -> dict[str, int]:
    taken = dict.fromkeys(weights, 0)
    left, still = total, {name: weight for name, weight in weights.items() if weight > 0 and available[name] > 0}
    while left > 0 and still:
        full = {}
        for name, part in parts_by_weight(left, still).items():
            room = available[name] - taken[name]
            if part >= room:
                full[name] = room
        if not full:
            for name, part in parts_by_weight(left, still).items():
                taken[name] += part
            return taken
        for name, room in full.items():
            taken[name] += room
            left -= room
            del still[name]
    return taken


def parts_by_weight(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """The total in whole parts by weight; what rounding leaves goes to the largest remainders."""
    whole = sum(weights.values())
    exact = {name: total * weight / whole for name, weight in weights.items()}
    parts = {name: int(value) for name, value in exact.items()}
    order = sorted(weights, key=lambda name: (parts[name] - exact[name], name))
    for name in order[: total - sum(parts.values())]:
        parts[name] += 1
    return parts
