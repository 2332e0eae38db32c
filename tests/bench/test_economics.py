"""The arithmetic of break-even, on figures that are known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.chain import ChainPoint, accept_length, conditional_rates, cost_model, expectations
from engine.bench.economics import Estimate, economics, savings, verdict
from engine.bench.statistics import share_estimates


def test_the_story() -> None:
    """Baseline 90, best speculative configuration 82.3 at accept length 2.1."""
    found = economics(Estimate(90.0), Estimate(82.3), Estimate(2.1))
    assert found.round_cost.value == pytest.approx(2.2965, abs=1e-4)
    assert verdict(found) == "needs accept length over 2.30; 0.20 short"
    assert found.speedup.value == pytest.approx(0.914, abs=1e-3)
    assert found.needed_accept_length["1.5"] == pytest.approx(3.44, abs=0.01)


def test_an_interval_of_three_per_cent_on_each_figure_makes_a_near_miss_a_tie() -> None:
    near = economics(Estimate(90, 87.3, 92.7), Estimate(88.2, 85.55, 90.85), Estimate(2.25, 2.18, 2.32))
    assert near.round_cost.relative_error == pytest.approx(0.052, abs=0.002)
    assert verdict(near).startswith("a tie")


@given(base=st.floats(0.1, 1e5), spec=st.floats(0.1, 1e5), length=st.floats(1, 64), error=st.floats(0, 0.2))
def test_at_the_break_even_accept_length_speculation_is_as_fast_as_the_baseline(
    base: float, spec: float, length: float, error: float
) -> None:
    found = economics(Estimate(base), Estimate(spec, spec * (1 - error), spec * (1 + error)), Estimate(length))
    round_s = length / spec
    assert found.round_cost.value / round_s == pytest.approx(base)
    assert (found.missing_accept_length > 0) == (found.speedup.value < 1)


@pytest.mark.parametrize("figures", [(0, 80, 2), (90, -1, 2), (90, 80, 0.5), (90, float("nan"), 2)])
def test_figures_that_cannot_be_are_refused(figures: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"must be positive|1 or more"):
        economics(*(Estimate(figure) for figure in figures))


def test_savings_of_a_day() -> None:
    found = savings(1_000_000, 100, 200, baseline_power_w=500, power_w=600)
    assert found.saved_hours == pytest.approx(1_000_000 / 200 / 3600)
    assert found.saved_kwh == pytest.approx((10_000 * 500 - 5_000 * 600) / 3.6e6)
    assert savings(1e6, 100, 50).saved_hours < 0
    assert savings(1e6, 100, 50).saved_kwh is None


def test_rates_of_a_recorded_answer_of_a_real_server() -> None:
    """SGLang 0.5.17, 51 verifications, histogram [17, 7, 9, 18]: 79 drafted tokens stood."""
    rates = share_estimates([[17, 7, 9, 18]])
    assert [rate.value for rate in rates] == [34 / 51, 27 / 51, 18 / 51]
    assert accept_length(rates, 3).value == pytest.approx(1 + 79 / 51)
    assert conditional_rates([rate.value for rate in rates]) == pytest.approx((34 / 51, 27 / 34, 18 / 27))


def test_the_card_of_a_public_draft() -> None:
    """Marginal rates 0.633, 0.404, 0.264 make the accept length 2.30 that the card states."""
    rates = [Estimate(rate) for rate in (0.633, 0.404, 0.264)]
    assert accept_length(rates, 3).value == pytest.approx(2.30, abs=0.01)
    assert accept_length(rates, 1).value == pytest.approx(1.633)
    longer = accept_length(rates, 5)
    assert longer.low == pytest.approx(2.301)
    assert longer.value == pytest.approx(2.301 + 0.264 * (0.264 / 0.404) * (1 + 0.264 / 0.404))


def test_two_numbers_of_steps_fix_the_cost_of_a_step() -> None:
    rates = (Estimate(0.6), Estimate(0.4), Estimate(0.25))
    points = [ChainPoint(3, Estimate(1.6), rates), ChainPoint(1, Estimate(1.2), rates[:1])]
    model = cost_model(points)
    assert (model.fixed.value, model.step.value) == pytest.approx((1.0, 0.2))
    two, three, four = expectations(points, (2, 3, 4))
    assert two.speedup.value == pytest.approx(2.0 / 1.4)
    assert not two.measured and three.measured and not three.extrapolated and four.extrapolated


def test_one_number_of_steps_leaves_a_range() -> None:
    point = ChainPoint(4, Estimate(2.2), tuple(Estimate(rate) for rate in (0.5, 0.3, 0.2, 0.1)))
    (two,) = expectations([point], (2,))
    assert two.round_cost.low == pytest.approx(1.6)
    assert two.round_cost.high == pytest.approx(2.2)
    assert two.speedup.low is not None and two.speedup.high is not None
    assert two.speedup.low < two.speedup.value < two.speedup.high


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12))
def test_marginal_rates_fall_and_stay_shares(histogram: list[int]) -> None:
    rates = [rate.value for rate in share_estimates([histogram])]
    assert all(0 <= rate <= 1 for rate in rates)
    assert rates == sorted(rates, reverse=True)
    assert all(rate is None or 0 <= rate <= 1 + 1e-9 for rate in conditional_rates(rates))
