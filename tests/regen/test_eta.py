"""What the estimate must hold whatever the numbers are."""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.regen.eta import Eta, Source, estimate
from engine.regen.eta_words import Mark, why_moved
from engine.regen.lengths import LengthSums, fit
from engine.regen.order import spread_order
from engine.regen.speed import MOST_WINDOWS, SpeedHistory, Window, forecast, merged
from tests.benchmarks.regen_eta import SHARES, watch
from tests.benchmarks.regen_servers import make_scene

TOKENS = some.integers(1, 100_000)
CAP = 100_000.0


@given(
    some.lists(TOKENS, min_size=5, max_size=60),
    some.lists(some.floats(0.01, 1e4), max_size=64),
    some.integers(0, 10**7),
)
def test_the_range_holds_the_median(tokens: list[int], ages: list[float], waiting: int) -> None:
    eta = estimate([_source(tokens, ages, waiting)], [_window(tokens)] * 9, 64, CAP)
    assert eta is not None
    assert 0 <= eta.low_s <= eta.median_s <= eta.high_s
    assert math.isfinite(eta.high_s)


def test_nothing_is_said_while_too_little_is_known_and_zero_at_the_end() -> None:
    assert estimate([_source([9] * 4, [0.5], 100)], [_window([9] * 4)], 4, CAP) is None
    assert estimate([_source([9] * 9, [], 0)], [_window([9] * 9)], 4, CAP) == Eta(0.0, 0.0, 0.0)
    assert estimate([_source([9] * 9, [1.0], 5)], [], 4, CAP) is None


def test_a_source_whose_server_counts_no_tokens_stops_nothing() -> None:
    sources = [_source([0] * 9, [], 100), _source([160] * 9, [1.0], 100)]
    eta = estimate(sources, [_window([160] * 9)], 4, CAP)
    assert eta is not None and math.isfinite(eta.high_s)


def test_answers_of_one_length_take_their_length_each() -> None:
    source = _source([100] * 500, [0.0] * 10, 1000)
    eta = estimate([source], [Window(20.0, 1000.0, 100.0, 10.0)] * 20, 10, CAP)
    assert eta is not None
    assert abs(eta.median_s - 1010) < 25


def test_long_answers_in_flight_lengthen_it() -> None:
    young = fit(_sums([100, 200] * 20), [1.0] * 8, CAP)
    old = fit(_sums([100, 200] * 20), [3000.0] * 8, CAP)
    assert young is not None and old is not None
    assert old.mean > 1.5 * young.mean


def test_a_source_of_long_answers_counts_by_its_own_length() -> None:
    """Short answers are done, long ones wait: an average over finished samples would be five times too small."""
    short, long = _source([100] * 900, [], 0, "short"), _source([1000] * 100, [], 900, "long")
    eta = estimate([short, long], [Window(60.0, 1000.0, 100.0, 10.0)] * 20, 10, CAP)
    assert eta is not None
    assert eta.tokens_left == pytest.approx(900_000, rel=0.02)


@given(some.integers(1, 3000))
def test_every_sample_is_asked_once(total: int) -> None:
    assert sorted(spread_order(total)) == list(range(1, total + 1))


@given(some.integers(2000, 5000), some.integers(100, 900))
def test_any_part_of_the_inputs_is_asked_in_proportion(total: int, size: int) -> None:
    early = [number for number, _ in zip(spread_order(total), range(total // 20), strict=False)]
    inside = sum(number <= size for number in early)
    assert abs(inside - size / 20) <= 4


def test_a_longer_history_costs_no_more() -> None:
    history = SpeedHistory()
    for _ in range(5000):
        history.add(Window(history.window_s, 10.0, 5.0, 2.0))
    assert len(history.windows) <= MOST_WINDOWS
    assert merged(history.windows).tokens >= 10.0 * len(history.windows)


def test_a_restless_server_widens_the_range() -> None:
    steady = [Window(60.0, 100.0, 10.0, 4.0)] * 60
    swinging = [Window(60.0, 100.0 * (1.5 if place // 15 % 2 else 0.5), 10.0, 4.0) for place in range(60)]
    calm, restless = forecast(steady, 3600.0), forecast(swinging, 3600.0)
    assert calm is not None and restless is not None
    assert restless.spread > 3 * calm.spread
    assert calm.tokens_per_s == pytest.approx(40.0)


def test_a_recent_change_of_speed_counts_for_the_near_future() -> None:
    windows = [Window(60.0, 100.0 if place < 50 else 50.0, 10.0, 4.0) for place in range(60)]
    near, far = forecast(windows, 120.0), forecast(windows, 360_000.0)
    assert near is not None and far is not None
    assert near.tokens_per_s < 30 < far.tokens_per_s


def test_why_it_moved_is_said_in_words() -> None:
    before = Mark(0.0, 0.0, 0.0, 64, Eta(36_000.0, 0, 0, 1e7, 280.0, 500.0))
    slower = Mark(600.0, 600.0, 0.0, 64, Eta(40_000.0, 0, 0, 1e7, 250.0, 500.0))
    longer = Mark(600.0, 1200.0, 600.0, 64, Eta(40_000.0, 0, 0, 1.1e7, 280.0, 550.0))
    assert why_moved(before, before) == ""
    ended = Mark(600.0, 600.0, 0.0, 64, Eta(0.0, 0.0, 0.0))
    assert why_moved(before, ended) == "", "nothing is left, so there is no speed any more"
    assert "later than 10 min ago: the servers are slower, 250 tok/s in place of 280" in why_moved(before, slower)
    assert "answers are longer than thought, 550 tokens in place of 500" in why_moved(before, longer)
    assert "no server answered for 10 min" in why_moved(before, longer)


def test_simulated_runs_end_when_it_says() -> None:
    """A small form of tests/benchmarks/regen_eta.py, whose figures docs/regen.md gives."""
    looks = [watch(make_scene(seed, 6000), seed, spread_order(6000)) for seed in range(20)]
    for place in range(len(SHARES)):
        held = [look[place].eta for look in looks]
        assert all(held)
        inside = sum(
            eta.low_s <= look[place].left_s <= eta.high_s for look, eta in zip(looks, held, strict=True) if eta
        )
        assert inside >= 14
    first = [look[0] for look in looks]
    ours = median(abs(look.eta.median_s / look.left_s - 1) for look in first if look.eta)
    assert ours < median(abs(look.average_s / look.left_s - 1) for look in first)


def _sums(tokens: list[int]) -> LengthSums:
    sums = LengthSums()
    for one in tokens:
        sums.add(one)
    return sums


def _source(tokens: list[int], ages: list[float], waiting: int, name: str = "source") -> Source:
    return Source(name, _sums(tokens), waiting, ages)


def _window(tokens: list[int]) -> Window:
    return Window(20.0, float(sum(tokens)), float(len(tokens)), 8.0)
