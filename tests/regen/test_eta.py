"""What the estimate must hold whatever the numbers are."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.regen.eta import Eta, Service, estimate
from tests.benchmarks.regen_eta import simulate

SECONDS = some.floats(0.01, 1e4)


@given(some.lists(SECONDS, min_size=5, max_size=60), some.lists(SECONDS, max_size=64), some.integers(0, 10**7))
def test_the_range_holds_the_median(took: list[float], in_flight: list[float], waiting: int) -> None:
    eta = estimate(_service(took, in_flight), waiting, 64, [])
    assert eta is not None
    assert 0 <= eta.low_s <= eta.median_s <= eta.high_s


def test_nothing_is_said_while_too_little_is_known_and_zero_at_the_end() -> None:
    assert estimate(_service([1.0] * 4, [0.5]), 100, 4, []) is None
    assert estimate(_service([1.0] * 9, []), 0, 4, []) == Eta(0.0, 0.0, 0.0)


def test_samples_of_one_length_take_their_length_each() -> None:
    eta = estimate(_service([2.0] * 500, []), 1000, 10, [5.0] * 15)
    assert eta is not None
    assert abs(eta.median_s - 202) < 4


def test_old_samples_in_flight_lengthen_it() -> None:
    young = estimate(_service([1.0, 2.0] * 20, [0.1] * 8), 500, 8, [])
    old = estimate(_service([1.0, 2.0] * 20, [30.0] * 8), 500, 8, [])
    assert young is not None and old is not None
    assert old.median_s > young.median_s


@pytest.mark.parametrize("share", [0.05, 0.25, 0.9])
def test_the_range_holds_the_end_about_as_often_as_it_says(share: float) -> None:
    held, better = 0, 0
    for seed in range(100):
        left_s, eta, average_s = simulate(seed, share, swing=0.0)
        assert eta is not None
        held += eta.low_s <= left_s <= eta.high_s
        better += abs(eta.median_s - left_s) <= abs(average_s - left_s)
    assert 65 <= held <= 95
    assert better >= 50


def test_it_shrinks_towards_the_end() -> None:
    medians = [eta.median_s for share in (0.2, 0.5, 0.8, 0.95, 0.999) if (eta := simulate(1, share, 0.0)[1])]
    assert len(medians) == 5
    assert medians == sorted(medians, reverse=True)
    assert medians[-1] < medians[0] / 4


def _service(took: list[float], in_flight: list[float]) -> Service:
    return Service(len(took), sum(took), sum(one**2 for one in took), in_flight)
