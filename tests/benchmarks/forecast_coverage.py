"""How often the forecast's 80 % range holds the truth, on simulated trainings, beside a plain fit's range.

The truths: both laws, acceptance of a drafted token that levels off, and a slope that breaks within the points, which
follows neither law. The peer is a log-linear least-squares fit with its textbook prediction interval.
ALULA_FORECAST_RUNS makes it shorter.
"""

import os
from collections.abc import Callable, Iterator

import numpy
from numpy.typing import NDArray

from engine.train.forecast.drawing import drawn
from engine.train.forecast.laws import Points
from engine.train.forecast.scale import accept_length
from tests.benchmarks.results import Result

Array = NDArray[numpy.float64]
Truth = Callable[[Array], Array]
RUNS = int(os.environ.get("ALULA_FORECAST_RUNS", "40"))
SETS = 400
STUDENT_T_80 = {1: 3.078, 2: 1.886, 3: 1.638, 4: 1.533}


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Coverage by kind of truth, over 3, 4 and 6 points and 2 and 8 times the largest."""
    source = numpy.random.default_rng(1)
    for name, make in TRUTHS.items():
        outcomes = [
            _once(make(source), count, reach, source)
            for count in (3, 4, 6)
            for reach in (2.0, 8.0)
            for _ in range(RUNS)
        ]
        for subject, column in (("Alula's 80 % range", 0), ("log-linear least squares", 2)):
            held = 100 * numpy.mean([outcome[column] for outcome in outcomes])
            width = float(numpy.median([outcome[column + 1] for outcome in outcomes]))
            yield Result(subject, f"holds, {name}", float(held), "%")
            yield Result(subject, f"width, {name}", width, "tokens")
        report(f"  {name}: {len(outcomes)} forecasts")


def _once(truth: Truth, count: int, reach: float, source: numpy.random.Generator) -> tuple[bool, float, bool, float]:
    """Held and width: of the forecast, then of the peer."""
    sizes = 2.0 ** numpy.arange(count)
    noise = source.uniform(0.003, 0.02)
    lengths = (truth(sizes) * (1 + noise * source.standard_normal(count))).clip(1)
    where = numpy.array([sizes[-1] * reach])
    wanted = float(truth(where)[0])
    errors = lengths * noise * source.uniform(0.5, 1.2)
    values = drawn(Points(sizes, lengths[None], errors, None), SETS, int(source.integers(2**31))).at(where)[:, 0]
    low, high = numpy.quantile(values, [0.1, 0.9])
    peer_low, peer_high = _textbook(numpy.log(sizes), lengths, float(numpy.log(where[0])))
    return bool(low <= wanted <= high), float(high - low), peer_low <= wanted <= peer_high, peer_high - peer_low


def _textbook(x: Array, y: Array, where: float) -> tuple[float, float]:
    slope, top = numpy.polyfit(x, y, 1)
    freedom = len(x) - 2
    spread = numpy.sqrt(((y - top - slope * x) ** 2).sum() / freedom)
    half = (
        STUDENT_T_80[freedom] * spread * numpy.sqrt(1 / len(x) + (where - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    )
    return float(top + slope * where - half), float(top + slope * where + half)


def _straight(source: numpy.random.Generator) -> Truth:
    slope, top = source.uniform(0.05, 0.4), source.uniform(1.3, 2.5)
    return lambda sizes: top + slope * numpy.log(sizes)


def _saturating(source: numpy.random.Generator) -> Truth:
    top = source.uniform(2, 4.5)
    fall, exponent = source.uniform(0.2, 0.8) * (top - 1), source.uniform(0.1, 0.9)
    return lambda sizes: top - fall * sizes**-exponent


def _acceptance(source: numpy.random.Generator) -> Truth:
    top = source.uniform(0.6, 0.95)
    fall, exponent = top * source.uniform(0.2, 0.7), source.uniform(0.1, 0.8)
    return lambda sizes: accept_length(top - fall * sizes**-exponent, 5)


def _broken(source: numpy.random.Generator) -> Truth:
    slope, top, where = source.uniform(0.1, 0.4), source.uniform(1.3, 2.2), source.uniform(2, 8)
    return lambda sizes: (
        top + slope * numpy.log(numpy.minimum(sizes, where)) + 0.4 * slope * numpy.log(numpy.maximum(sizes / where, 1))
    )


TRUTHS: dict[str, Callable[[numpy.random.Generator], Truth]] = {
    "log-linear": _straight,
    "saturating": _saturating,
    "saturating acceptance": _acceptance,
    "a broken slope": _broken,
}
