"""Temperature, top-k, top-p, min-p, seeds."""

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.reference.sampling import SamplingSettings, next_token, probabilities

LOGITS = arrays.arrays(numpy.float32, (3, 12), elements=st.floats(-8, 8, width=32))


@settings(deadline=None)
@given(LOGITS, st.floats(0.1, 3.0), st.sampled_from([-1, 1, 4]), st.floats(0.05, 1.0), st.floats(0.0, 0.9))
def test_filters_leave_a_distribution(
    logits: numpy.ndarray, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    shares = probabilities(logits, SamplingSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p))
    assert numpy.allclose(shares.sum(axis=-1), 1.0)
    assert (shares >= 0).all()
    if top_k > 0:
        assert ((shares > 0).sum(axis=-1) <= top_k).all()


@settings(deadline=None)
@given(LOGITS, st.floats(0.05, 0.99))
def test_top_p_keeps_the_fewest_tokens_that_reach_it(logits: numpy.ndarray, top_p: float) -> None:
    full = probabilities(logits, SamplingSettings())
    kept = probabilities(logits, SamplingSettings(top_p=top_p)) > 0
    mass = (full * kept).sum(axis=-1)
    smallest = numpy.where(kept, full, 2.0).min(axis=-1)
    assert (mass > top_p - 1e-6).all()
    assert (mass - smallest <= top_p + 1e-6).all()


@settings(deadline=None)
@given(LOGITS)
def test_no_temperature_and_top_k_of_one_take_the_likeliest(logits: numpy.ndarray) -> None:
    random = numpy.random.default_rng(1)
    for sampling in (SamplingSettings(temperature=0.0), SamplingSettings(top_k=1)):
        assert next_token(logits[0], sampling, random) == int(logits[0].argmax())


def test_draws_follow_the_distribution() -> None:
    logits = numpy.log(numpy.array([0.5, 0.3, 0.2], dtype=numpy.float32))
    random = numpy.random.default_rng(7)
    drawn = [next_token(logits, SamplingSettings(), random) for _ in range(4000)]
    assert numpy.allclose(numpy.bincount(drawn) / 4000, [0.5, 0.3, 0.2], atol=0.03)
