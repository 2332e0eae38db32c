"""A forecast in words and tables."""

from console.command_line.live_view import table
from engine.train.forecast.records import Forecast, Span
from state.outside_text import plain_line


def forecast_lines(found: Forecast) -> list[str]:
    """Points, law, answers, cautions."""
    rows = [
        [_amount(one.samples), f"{one.accept_length:.3f}", _ends(one.low, one.high), plain_line(one.label, 40)]
        for one in found.points
    ]
    lines = table(["POINT", "ACCEPT", "95 %", "FROM"], rows, right=[0, 1])
    chosen = next(one for one in found.fits if one.law == found.law)
    lines += ["", f"{found.law}: {chosen.formula}", f"  {found.reason}"]
    if chosen.levels_off_at is not None:
        lines.append(f"  levels off at {chosen.levels_off_at:.2f}")
    if found.at:
        lines += ["", *table(["SAMPLES", "ACCEPT (80 %)", "SPEED-UP (80 %)", "PAYS", "HOURS"], _at_rows(found), [0])]
    if found.needed:
        lines += ["", *table(["GOAL", "ACCEPT", "DATA (80 %)", "HOURS", "VERDICT"], _needed_rows(found), [1])]
    lines += ["", f"These points can speak of up to {_amount(found.reach)}."]
    return lines + [f"Mind: {text}." for text in found.cautions]


def _at_rows(found: Forecast) -> list[list[str]]:
    return [
        [
            _amount(one.samples),
            _span(one.accept_length, ".2f"),
            "–" if one.speedup is None else _span(one.speedup, ".2f"),
            "–" if one.chance_to_pay is None else f"{one.chance_to_pay * 100:.0f} %",
            "–" if one.hours is None else f"{one.hours:.1f}",
        ]
        for one in found.at
    ]


def _needed_rows(found: Forecast) -> list[list[str]]:
    return [
        [
            one.goal,
            f"{one.accept_length:.2f}",
            _span(one.samples, ",.0f"),
            "–" if one.hours is None else _span(one.hours, ",.1f"),
            one.verdict,
        ]
        for one in found.needed
    ]


def _span(span: Span, form: str) -> str:
    if span.value is None and span.low is None:
        return "–"
    value, low, high = ("over" if one is None else format(one, form) for one in (span.value, span.low, span.high))
    return f"{value} ({low}–{high})"


def _ends(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.3f}–{high:.3f}"


def _amount(samples: float) -> str:
    return f"{samples:,.0f}"
