"""The two questions: what will an amount give, and what amount does a goal take."""

import math

import numpy

from engine.train.forecast.drawing import Draws
from engine.train.forecast.laws import Curves
from engine.train.forecast.records import AtSamples, Costs, Needed, Span
from engine.train.forecast.scale import Array

LOW, HIGH = 0.1, 0.9
"""Ends of an 80 % range."""
UNLIKELY, LIKELY = 0.1, 0.9


def at_samples(samples: float, curves: Curves, draws: Draws, costs: Costs, ready: float) -> AtSamples:
    """What an amount of data will give."""
    where = numpy.array([samples])
    lengths = draws.at(where)[:, 0]
    found = _span(float(curves.at(where)[0, 0]), lengths)
    speedup, chance = None, None
    if costs.break_even is not None:
        even = costs.break_even * _noise(len(lengths), costs.break_even_error)
        assert found.value is not None
        speedup = _span(found.value / costs.break_even, lengths / even)
        chance = float((lengths > even).mean())
    hours = max(0.0, samples - ready) / costs.samples_per_hour if costs.samples_per_hour else None
    return AtSamples(samples=samples, accept_length=found, speedup=speedup, chance_to_pay=chance, hours=hours)


def needed_for(
    goal: str, length: float, curves: Curves, draws: Draws, costs: Costs, ready: float, reach: float
) -> Needed:
    """How much data an accept length takes. What lies beyond the reach is `None`, not a number."""
    lengths = numpy.full(len(draws.bent), length)
    if costs.break_even is not None:
        lengths = lengths * _noise(len(lengths), costs.break_even_error)
    sizes = draws.needed(lengths)
    low, high = numpy.quantile(sizes, [LOW, HIGH], method="inverted_cdf")
    best = float(curves.needed(numpy.full(len(curves.top), length))[0])
    span = Span(*(_within(float(one), reach) for one in (best, min(low, best), max(high, best))))
    chance = float((sizes <= reach).mean())
    return Needed(
        goal=goal,
        accept_length=length,
        samples=span,
        chance=chance,
        hours=_hours(span, costs, ready),
        verdict=_verdict(span, chance, curves, best, draws, ready, reach),
    )


def _verdict(span: Span, chance: float, curves: Curves, best: float, draws: Draws, ready: float, reach: float) -> str:
    if chance < UNLIKELY:
        level = float(numpy.median(draws.levels_off_at()))
        if math.isinf(best) and math.isfinite(level) and float(curves.slope[0]) > 0:
            return f"no amount, by these points: the curve levels off near {level:.2f}"
        if math.isinf(best):
            return "no amount, by these points: more data did not help"
        return f"no amount up to {reach:,.0f}, by these points; they cannot speak of more"
    if span.value is None:
        return f"perhaps, at {reach:,.0f} or more: {chance * 100:.0f} % of the fits reach it by there"
    if span.value <= ready:
        return "reached already, by the curve" if chance > LIKELY else "about reached, by the curve"
    if span.high is None:
        rest = f"{(1 - chance) * 100:.0f} % of the fits"
        return f"{span.value:,.0f} by the best fit; {rest} do not reach it by {reach:,.0f}"
    return f"{span.value / ready:.1f}x the data"


def _hours(span: Span, costs: Costs, ready: float) -> Span | None:
    if not costs.samples_per_hour:
        return None
    speed = costs.samples_per_hour
    return Span(*(None if one is None else max(0.0, one - ready) / speed for one in (span.value, span.low, span.high)))


def _span(value: float, values: Array) -> Span:
    low, high = (float(one) for one in numpy.quantile(values, [LOW, HIGH]))
    return Span(value, min(low, value), max(high, value))


def _within(size: float, reach: float) -> float | None:
    return size if size <= reach else None


def _noise(count: int, relative: float) -> Array:
    found: Array = 1 + relative * numpy.random.default_rng(1).standard_normal(count)
    return found.clip(0.1)
