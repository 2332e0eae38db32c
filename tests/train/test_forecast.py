"""The forecast: laws that are recovered, ranges that are honest, and refusals with a reason."""

import json
from pathlib import Path

import numpy
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as some

from console.command_line.train import train
from engine.train.forecast.forecasting import forecast
from engine.train.forecast.limits import check_reach
from engine.train.forecast.reading import parse_point, read_points
from engine.train.forecast.records import CannotForecast, Costs, DataPoint
from engine.train.forecast.scale import accept_length, acceptance

SIZES = (1_000, 2_000, 4_000, 8_000, 16_000)


def points(lengths: list[float] | tuple[float, ...], sizes: tuple[int, ...] = SIZES) -> list[DataPoint]:
    return [
        DataPoint(samples=size, accept_length=length, low=length - 0.01, high=length + 0.01)
        for size, length in zip(sizes, lengths, strict=False)
    ]


def test_a_straight_line_is_gone_on_with() -> None:
    found = forecast(points([1.5 + 0.2 * float(numpy.log(size / 1000)) for size in SIZES]), amounts=(64_000,))
    assert found.law == "log-linear"
    assert found.at[0].accept_length.value == pytest.approx(1.5 + 0.2 * float(numpy.log(64)), abs=0.02)


def test_a_curve_that_levels_off_says_no_amount() -> None:
    lengths = [2.2 - 0.7 * (size / 1000) ** -0.6 for size in SIZES]
    found = forecast(points(lengths), costs=Costs(break_even=2.6), speedups=(1.0,))
    assert found.law == "saturating"
    assert found.needed[0].samples.value is None
    assert "no amount, by these points" in found.needed[0].verdict


def test_break_even_takes_an_amount_and_hours_at_the_measured_pace() -> None:
    lengths = [1.5 + 0.2 * float(numpy.log(size / 1000)) for size in SIZES]
    found = forecast(points(lengths), costs=Costs(break_even=2.2, samples_per_hour=1000), speedups=(1.0,)).needed[0]
    assert found.samples.value == pytest.approx(1000 * numpy.exp(3.5), rel=0.05)
    assert found.samples.low is not None and found.samples.low <= found.samples.value
    assert found.hours is not None
    assert found.hours.value == pytest.approx((found.samples.value - 16_000) / 1000)


def test_falling_points_need_no_amount_and_are_told_apart_from_noise() -> None:
    found = forecast(points([2.5, 2.4, 2.3, 2.2, 2.1]), accept_lengths=(3.0,))
    assert "more data did not help" in found.needed[0].verdict
    assert any("smaller accept length" in text for text in found.cautions)


@pytest.mark.parametrize(("smallest", "samples"), [(2200.0, 88_088.0), (2200.0, 8_800_000.0), (880.0, 300_000.0)])
def test_what_is_to_be_measured_for_a_far_amount_is_enough(smallest: float, samples: float) -> None:
    points = [DataPoint(samples=size, accept_length=2.0) for size in (smallest, 4400.0, 8800.0)]
    with pytest.raises(CannotForecast, match="times the largest point") as refused:
        check_reach(samples, points)
    size = float(refused.value.remedy.split(" on ")[1].split(" or ")[0].replace(",", "")) + 1
    assert size > 8800
    check_reach(samples, [*points, DataPoint(samples=size, accept_length=2.2)])


def test_points_that_fall_all_along_do_not_level_off() -> None:
    found = forecast([parse_point(text) for text in ("2200:2.3", "4400:2.2", "8800:2.1")], accept_lengths=(2.31,))
    assert "more data did not help" in found.needed[0].verdict


@pytest.mark.parametrize(
    ("given_points", "amounts", "says"),
    [
        (points([1.5, 1.6])[:2], (), "2 amounts of data"),
        (points([1.5]) * 5, (), "1 amount of data"),
        (points([1.5, 1.6, 1.7], (1000, 1100, 1200)), (), "span a factor of 1.20"),
        (points([1.5, 1.6, 1.7]), (1e9,), "these points speak of"),
        ([DataPoint(samples=1, accept_length=0.4)], (), "counts the bonus token"),
        ([DataPoint(samples=-1, accept_length=2)], (), "-1 samples"),
        ([DataPoint(samples=1, accept_length=2, low=3, high=4)], (), "outside its interval"),
        (points([1.5, 1.6, 1.7]), (float("nan"),), "an amount of nan"),
    ],
)
def test_refuses_with_a_reason(given_points: list[DataPoint], amounts: tuple[float, ...], says: str) -> None:
    with pytest.raises(CannotForecast, match=says) as caught:
        forecast(given_points, amounts=amounts)
    assert caught.value.remedy


@settings(max_examples=25, deadline=None)
@given(
    some.lists(some.floats(1, 6), min_size=3, max_size=6),
    some.one_of(some.none(), some.just(5)),
    some.floats(1, 8),
)
def test_any_points_give_ordered_finite_ranges(lengths: list[float], drafted: int | None, goal: float) -> None:
    sizes = tuple(2**number for number in range(len(lengths)))
    found = forecast(
        [DataPoint(samples=size, accept_length=length) for size, length in zip(sizes, lengths, strict=True)],
        amounts=(sizes[-1] * 2,),
        accept_lengths=(goal,),
        drafted=drafted,
    )
    span = found.at[0].accept_length
    assert span.value is not None and span.low is not None and span.high is not None
    assert 1 <= span.low <= span.value <= span.high
    assert numpy.isfinite(span.high)
    if drafted is not None:
        assert span.high <= drafted + 1 + 1e-9
    assert 0 <= found.needed[0].chance <= 1


@settings(max_examples=25, deadline=None)
@given(some.floats(1.2, 3), some.floats(0.05, 0.4), some.floats(0.1, 1000))
def test_the_unit_of_data_does_not_matter(top: float, slope: float, unit: float) -> None:
    lengths = [top + slope * number for number in range(4)]
    plain, scaled = (
        forecast(points(lengths, sizes), accept_lengths=(lengths[-1] + slope,)).needed[0].samples.value  # type: ignore[arg-type]
        for sizes in ((1, 2, 4, 8), tuple(unit * size for size in (1, 2, 4, 8)))
    )
    assert (plain is None) == (scaled is None)
    if plain is not None:
        assert scaled == pytest.approx(plain * unit, rel=1e-6)


@given(some.floats(0, 1), some.integers(1, 8))
def test_acceptance_and_accept_length_are_inverse(chance: float, steps: int) -> None:
    length = accept_length(numpy.array([chance]), steps)
    assert 1 <= length[0] <= steps + 1
    assert acceptance(length, steps)[0] == pytest.approx(chance, abs=1e-6)


def test_the_same_points_give_the_same_range() -> None:
    one, two = (forecast(points([1.5, 1.6, 1.7]), amounts=(8000,)) for _ in range(2))
    assert one == two


def test_points_of_a_file_and_of_words(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("samples,accept_length,low,high,label\n100,1.5,1.4,1.6,run 1\n200,1.7,,,\n")
    (tmp_path / "points.jsonl").write_text('{"tokens": 100, "tau": 1.5}\n')
    assert read_points(tmp_path / "points.csv")[0] == DataPoint(
        samples=100, accept_length=1.5, low=1.4, high=1.6, label="run 1"
    )
    assert read_points(tmp_path / "points.jsonl") == [DataPoint(samples=100, accept_length=1.5)]
    assert parse_point("8,800:2.1") == DataPoint(samples=8800, accept_length=2.1)
    for rubbish in ("x", "1:2:3", ""):
        with pytest.raises(CannotForecast, match="is no point"):
            parse_point(rubbish)
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "bad2.csv").write_text("a,b\n1,2\n")
    for name in ("bad.csv", "bad2.csv", "missing.csv"):
        with pytest.raises(CannotForecast):
            read_points(tmp_path / name)


def test_the_command_answers_in_words_and_json() -> None:
    words = ["forecast", "--point", "880:1.7", "--point", "2640:1.9", "--point", "8800:2.1"]
    asked = [*words, "--measured", "90", "82.3", "2.1", "--at", "88088", "--speedup", "1"]
    told = CliRunner().invoke(train, asked)
    assert told.exit_code == 0
    assert "88,088" in told.output and "break even" in told.output
    found = json.loads(CliRunner().invoke(train, [*asked, "--json"]).output)
    assert found["needed"][0]["accept_length"] == pytest.approx(2.2965, abs=1e-3)
    refused = CliRunner().invoke(train, [*words[:5], "--json"])
    assert refused.exit_code == 2
    assert "need 3" in json.loads(refused.output)["error"]
