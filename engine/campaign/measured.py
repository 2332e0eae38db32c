"""A benchmark's comparison in the few figures that a campaign keeps. Pure."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a screen that looks for the best row needs none of this
    from engine.bench.comparison import Comparison, Row
    from engine.bench.economics import Estimate


def measured(comparison: "Comparison") -> dict[str, Any]:
    """Rows of the smallest load, which is what one user waits for, with speeds, accept lengths and break-even."""
    first = comparison.rows[0].summary.load.name if comparison.rows else ""
    rows = [_row(row) for row in comparison.rows if row.summary.load.name == first]
    return {
        "load": first,
        "rows": rows,
        "problems": {name: f"{problem.message}; {problem.remedy}" for name, problem in comparison.problems.items()},
        "notes": list(comparison.notes[:5]),
    }


def _row(row: "Row") -> dict[str, Any]:
    """The speed is that of one stream after its first token, since break-even is reckoned with it; where the server
    streams in too few pieces for that, the speed of whole answers."""
    summary, found = row.summary, row.economics
    speed = summary.decode_tokens_per_s or summary.tokens_per_s
    return {
        "name": row.name,
        "baseline": row.is_baseline,
        "tokens_per_s": _plain(speed),
        "accept_length": _plain(summary.accept_length),
        "speedup": _plain(found.speedup if found else row.ratio),
        "break_even": _plain(found.round_cost) if found else None,
        "requests": summary.requests,
        "failed": sum(summary.failures.values()),
        "void": row.void,
    }


def _plain(estimate: "Estimate | None") -> list[float | None] | None:
    return None if estimate is None else [estimate.value, estimate.low, estimate.high]


def best(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The fastest row that counts and is not the baseline."""
    counting = [row for row in rows if not row["baseline"] and not row["void"] and row["speedup"]]
    return max(counting, key=lambda row: float(row["speedup"][0]), default=None)
