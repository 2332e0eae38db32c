"""Writes a plan from a curated table."""

import re
from collections.abc import Mapping as Map
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.data.catalogue.benchmarks import benchmark_of
from engine.data.plan.reading import parse_plan
from engine.data.plan.records import Decontamination, Plan, PlanError, PlanSource, Target
from engine.data.prepare.parts import write_whole
from engine.data.records import Mapping
from state.records.data import DataSet

_HEAD = """\
# The data of a campaign. Prepare it: alula data prepare {file}
# Every field is told in docs/data.md. Weights are parts of the total; a source may have a quota instead.

"""


def plan_of(
    sets: Sequence[DataSet], *, name: str, total: int | None, target: Target, benchmarks: Sequence[str],
    shares: Map[str, float], seed: int = 0,
) -> Plan:  # fmt: skip
    """A plan of the sets that are kept.

    Args:
        sets: A curated table.
        total: Records of the mix; `None` takes all.
        shares: Domain to its part of the total. Domains that are not named share the rest by the fit of their sets.
    """
    kept = [one for one in sets if one.kept and not benchmark_of(one.id)]
    weights = weights_of(kept, shares) if total is not None else {}
    sources = tuple(_source(one, weights.get(one.id)) for one in kept)
    return Plan(
        name=name, seed=seed, total=total, target=target,
        decontamination=Decontamination(benchmarks=tuple(benchmarks)), source=_unique(sources),
    )  # fmt: skip


def weights_of(sets: Sequence[DataSet], shares: Map[str, float]) -> dict[str, float]:
    """Each set's part of the total. Within a domain it goes by fit."""
    domains: dict[str, list[DataSet]] = {}
    for one in sets:
        domains.setdefault(one.domain, []).append(one)
    named = {domain: shares[domain] for domain in domains if domain in shares}
    rest = max(0.0, 1.0 - sum(named.values()))
    others = {domain: sum(max(one.score, 0.05) for one in domains[domain]) for domain in domains if domain not in named}
    whole = sum(others.values())
    parts = {**named, **{domain: rest * fit / whole for domain, fit in others.items()}}
    weights: dict[str, float] = {}
    for domain, found in domains.items():
        fit = sum(max(one.score, 0.05) for one in found)
        for one in found:
            weights[one.id] = round(parts[domain] * max(one.score, 0.05) / fit, 4)
    return weights


def plan_text(plan: Plan, file: str) -> str:
    """The plan as TOML."""
    import tomli_w

    whole = msgspec.to_builtins(plan)
    for table in ("filters", "duplicates", "decontamination", "faults", "output", "sampling", "target"):
        whole[table] = _with_defaults(getattr(plan, table))
    order = (
        "name",
        "seed",
        "total",
        "target",
        "sampling",
        "filters",
        "duplicates",
        "decontamination",
        "faults",
        "output",
    )
    told = {key: whole[key] for key in (*order, "source") if key in whole}
    told.setdefault("seed", plan.seed)
    return _HEAD.format(file=file) + tomli_w.dumps(told, multiline_strings=False)


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan whole or not at all; an earlier file is kept as `NAME.toml.before`.

    Raises:
        PlanError: The plan holds a mistake, or the file cannot be written.
    """
    text = plan_text(plan, path.name)
    parse_plan(text, path.name)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            path.replace(path.with_name(f"{path.name}.before"))
        write_whole(path, text.encode())
    except OSError as error:
        raise PlanError(f"cannot write {path}: {error.strerror}", "see the folder's rights and space") from error


def _with_defaults(table: msgspec.Struct) -> dict[str, object]:
    values = {field.name: getattr(table, field.name) for field in msgspec.structs.fields(table)}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value is not None
    }


def _source(one: DataSet, weight: float | None) -> PlanSource:
    return PlanSource(
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", one.id.rpartition("/")[2]).strip("-.") or "set",
        hub=one.id,
        config=one.config,
        split=one.split,
        domain=one.domain,
        licence=one.licence,
        weight=weight,
        map=msgspec.convert(one.mapping, Mapping) if one.mapping else None,
    )


def _unique(sources: Sequence[PlanSource]) -> tuple[PlanSource, ...]:
    names: dict[str, int] = {}
    found = []
    for one in sources:
        names[one.name] = names.get(one.name, 0) + 1
        again = names[one.name]
        found.append(one if again == 1 else msgspec.structs.replace(one, name=f"{one.name}-{again}"))
    return tuple(found)
