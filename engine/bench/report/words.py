"""Figures of a comparison as text. `–` stands for what is not known."""

from collections.abc import Sequence

from engine.bench.comparison import Comparison, Foretold, Row
from engine.bench.economics import Estimate, verdict
from engine.bench.equality import Equality

ABSENT = "–"
HEADINGS = (
    "configuration", "load", "tok/s", "ratio", "", "accept", "c", "one user", "TTFT ms", "ITL ms p50/95/99",
    "W", "tok/J", "GiB", "same text", "by position",
)  # fmt: skip
RIGHT = (2, 3, 5, 6, 7, 8, 10, 11, 12)
"""Columns set to the right."""


def table(comparison: Comparison) -> list[list[str]]:
    """A row of texts for each configuration under each load, in the order of `HEADINGS`."""
    return [_cells(row) for row in comparison.rows]


def used_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """Columns in which at least one row knows something."""
    return [place for place in range(len(HEADINGS)) if any(row[place] not in ("", ABSENT) for row in rows)]


def interval(estimate: Estimate | None, decimals: int) -> str:
    """`82.3 ±1.2`."""
    if estimate is None:
        return ABSENT
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{decimals}f}"
    return f"{estimate.value:.{decimals}f} ±{(estimate.high - estimate.low) / 2:.{decimals}f}"


def sentences(comparison: Comparison) -> list[str]:
    """What follows from the figures, most important first."""
    found = list(comparison.advice)
    found += [_sentence(row) for row in comparison.rows if row.economics is not None and not row.is_baseline]
    found += [_best(row) for row in comparison.rows if row.best and comparison.baseline]
    found += _front(comparison)
    for foretold in comparison.foretold:
        found.append(_advice(foretold))
    found += _saved(comparison)
    found += [f"{row.name}: {text}" for row in _first_rows(comparison) if (text := equality_words(row.equality))]
    found += [f"{row.name} is void: {row.void}" for row in _first_rows(comparison) if row.void]
    found += [f"{name} failed: {problem.message}; {problem.remedy}" for name, problem in comparison.problems.items()]
    return found + list(comparison.notes)


def foretold_rows(foretold: Foretold) -> list[list[str]]:
    """Steps, accept length, cost of a round, speed-up, and how it is known."""
    return [
        [
            str(one.num_steps),
            interval(one.accept_length, 2),
            interval(one.round_cost, 2),
            interval(one.speedup, 2),
            "measured" if one.measured else "beyond what was measured" if one.extrapolated else "foretold",
        ]
        for one in foretold.steps
    ]


def equality_words(equality: Equality | None) -> str:
    """How many greedy answers differ from the baseline's, and why."""
    if equality is None or equality.equal == equality.compared:
        return ""
    differ = equality.compared - equality.equal
    counted = {kind: sum(one.verdict == kind for one in equality.divergences) for kind in ("tie", "fault", "unknown")}
    said = ", ".join(f"{count} {kind}" for kind, count in counted.items() if count)
    first = max(equality.divergences, key=lambda one: abs(one.margin_nats or 0.0))
    where = f"; widest margin {abs(first.margin_nats):.2f} nats" if first.margin_nats is not None else ""
    return f"{differ} of {equality.compared} greedy answers differ from the baseline's ({said}{where})"


def _cells(row: Row) -> list[str]:
    summary, economics = row.summary, row.economics
    itl = summary.itl_s
    ratio = "1" if row.is_baseline else interval(row.ratio, 2)
    return [
        row.name + (" *" if row.best else ""),
        summary.load.name,
        interval(summary.tokens_per_s, 1),
        ratio,
        "void" if row.void else "baseline" if row.is_baseline else row.verdict or "",
        interval(summary.accept_length, 2),
        interval(economics.round_cost, 2) if economics else ABSENT,
        interval(summary.decode_tokens_per_s, 1),
        f"{summary.ttft_s.p50 * 1000:.1f}" if summary.ttft_s else ABSENT,
        f"{itl.p50 * 1000:.1f} {itl.p95 * 1000:.1f} {itl.p99 * 1000:.1f}" if itl else ABSENT,
        f"{summary.power_w:.0f}" if summary.power_w is not None else ABSENT,
        f"{summary.tokens_per_joule:.2f}" if summary.tokens_per_joule is not None else ABSENT,
        f"{summary.memory_bytes / 2**30:.1f}" if summary.memory_bytes is not None else ABSENT,
        f"{row.equality.equal}/{row.equality.compared}" if row.equality else ABSENT,
        " ".join(f"{rate.value:.2f}" for rate in summary.accept_rates) or ABSENT,
    ]


def _sentence(row: Row) -> str:
    assert row.economics is not None
    needed = ", ".join(f"{length:.2f} for {wanted}x" for wanted, length in row.economics.needed_accept_length.items())
    return f"{row.name} {row.summary.load.name}: {verdict(row.economics)} (accept length {needed})"


def _best(row: Row) -> str:
    if row.is_baseline:
        return f"{row.summary.load.name}: nothing beats the baseline"
    ratio = f", {row.ratio.value:.2f}x the baseline" if row.ratio is not None else ""
    doubt = ", though the interval holds a tie" if row.verdict == "tie" else ""
    return f"{row.summary.load.name}: best is {row.name}{ratio}{doubt}"


def _front(comparison: Comparison) -> list[str]:
    """Where one user's speed and the speed in all pull apart: what is worth choosing between."""
    front = [row for row in comparison.rows if row.pareto and row.summary.decode_tokens_per_s is not None]
    if len(front) < 2 or len({row.summary.load.name for row in comparison.rows}) < 2:
        return []
    named = [
        f"{row.name} {row.summary.load.name} ({interval(row.summary.decode_tokens_per_s, 0)} for one, "
        f"{interval(row.summary.tokens_per_s, 0)} in all)"
        for row in front
    ]
    return [f"nothing is both faster for one user and faster in all than: {'; '.join(named)}"]


def _advice(foretold: Foretold) -> str:
    best = max(foretold.steps, key=lambda one: one.speedup.value)
    how = "measured" if best.measured else "foretold"
    low, high = best.speedup.low or 0.0, best.speedup.high or 0.0
    return (
        f"{foretold.load}: by the measured rates this draft is fastest with num-steps {best.num_steps}: "
        f"{best.speedup.value:.2f}x ({low:.2f} to {high:.2f}, {how})"
    )


def _saved(comparison: Comparison) -> list[str]:
    found = []
    for row in comparison.rows:
        if not row.best or row.is_baseline or row.savings is None:
            continue
        energy = f" and {row.savings.saved_kwh:.1f} kWh" if row.savings.saved_kwh is not None else ""
        found.append(
            f"{row.summary.load.name}: {row.savings.tokens_a_day / 1e6:.1f} million tokens a day take "
            f"{row.savings.hours:.1f} h instead of {row.savings.baseline_hours:.1f} h with {row.name}: "
            f"{row.savings.saved_hours:.1f} h{energy} saved"
        )
    return found


def _first_rows(comparison: Comparison) -> list[Row]:
    seen: dict[str, Row] = {}
    for row in comparison.rows:
        seen.setdefault(row.name, row)
    return list(seen.values())
