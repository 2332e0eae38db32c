"""Speculative decoding changes speed, never the answers; the wrong flag costs all of the speed."""

import asyncio
from collections import Counter
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.reference.checkpoint import DRAFT_CLASS, TARGET_CLASS, read_checkpoint, shipped_draft, shipped_target
from engine.reference.draft import Draft
from engine.reference.requests import Request
from engine.reference.runners import PlainRunner, Runner, SpeculativeRunner
from engine.reference.sampling import SamplingSettings, committed, probabilities
from engine.reference.settings import captured_layers
from engine.reference.target import Target
from tests.reference.conftest import PROMPTS, Serve, chat, post

CONTEXT = 256


async def _greedy_answers(serve: Serve, algorithm: str | None) -> tuple[list[Any], Any]:
    async with serve(algorithm) as session:
        answers = await asyncio.gather(*(chat(session, prompt, max_tokens=96) for prompt in PROMPTS))
        async with session.get("/server_info") as response:
            state = (await response.json())["internal_states"][0]
    return [answer["choices"] for answer in answers], state.get("avg_spec_accept_length")


async def test_greedy_answers_are_the_baselines_token_for_token(serve: Serve) -> None:
    baseline, none = await _greedy_answers(serve, None)
    eagle3, good = await _greedy_answers(serve, "EAGLE3")
    eagle, bad = await _greedy_answers(serve, "EAGLE")
    assert eagle3 == baseline
    assert eagle == baseline
    assert none is None
    assert good >= 2.0, "an EAGLE-3 draft under the right flag"
    assert bad < 1.1, "the same draft and prompts under --speculative-algorithm EAGLE"


async def test_every_answer_reports_its_own_accept_length(serve: Serve) -> None:
    async with serve("EAGLE3", speculative_num_steps=3, speculative_eagle_topk=1) as session:
        body = {"text": PROMPTS[1], "sampling_params": {"temperature": 0, "max_new_tokens": 60, "ignore_eos": True}}
        meta: Any = (await post(session, "/generate", body))["meta_info"]
    histogram = meta["spec_correct_drafts_histogram"]
    assert len(histogram) == 4
    assert sum(histogram) == meta["spec_verify_ct"]
    assert sum(number * times for number, times in enumerate(histogram)) == meta["spec_num_correct_drafts"]
    assert meta["spec_num_proposed_drafts"] == 3 * meta["spec_verify_ct"]
    assert meta["spec_accept_length"] == pytest.approx(meta["completion_tokens"] / meta["spec_verify_ct"])


@settings(deadline=None, max_examples=50)
@given(
    logits=st.lists(st.floats(-4, 4), min_size=5, max_size=5),
    token=st.integers(0, 4),
    temperature=st.sampled_from([0.5, 1.0, 1.7]),
    top_k=st.sampled_from([-1, 3]),
)
def test_one_verified_token_has_exactly_the_targets_distribution(
    logits: list[float], token: int, temperature: float, top_k: int
) -> None:
    """Summed over both outcomes of the test: kept with the target's probability, else drawn from the rest."""
    sampling = SamplingSettings(temperature=temperature, top_k=top_k)
    rows = numpy.array([logits, logits], dtype=numpy.float32)
    wanted = probabilities(rows[:1], sampling)[0]
    steps = 1500
    counts = numpy.zeros(5)
    for number in range(steps):
        # evenly spaced draws in place of random ones: the integral over the unit square, no luck in it
        counts[committed([token], rows, sampling, _Even(number / steps))[0]] += 1 / steps  # type: ignore[arg-type]
    assert numpy.abs(counts - wanted).max() < 0.02


class _Even:
    """A stand-in for a generator whose first draw is `first` and whose second runs through the unit interval."""

    def __init__(self, first: float) -> None:
        self._draws = iter((first, (first * 617.0) % 1.0, 0.5))

    def random(self) -> float:
        return next(self._draws)


def test_sampled_answers_have_the_baselines_distribution() -> None:
    """Chi-square over the first three tokens of 500 answers each, seeds fixed, four likeliest tokens a step."""
    target_files, draft_files = (
        read_checkpoint(shipped_target(), TARGET_CLASS),
        read_checkpoint(shipped_draft(), DRAFT_CLASS),
    )
    layers = captured_layers(draft_files.config, target_files.config.num_hidden_layers)
    target = Target(target_files, CONTEXT + 3, layers)
    draft = Draft(draft_files, target, CONTEXT + 3, own_head=True)
    plain = _outcomes(PlainRunner(target, 1, CONTEXT), range(500))
    speculative = _outcomes(SpeculativeRunner(target, draft, 3, 1, CONTEXT, inner_states=True), range(10_000, 10_500))
    common = [outcome for outcome, count in (plain + speculative).items() if count >= 20]
    first = numpy.array([plain[outcome] for outcome in common], dtype=float)
    second = numpy.array([speculative[outcome] for outcome in common], dtype=float)
    statistic = ((first - second) ** 2 / (first + second)).sum()
    assert len(common) >= 4
    assert statistic < _chi_square_limit(len(common)), "one in a thousand under equal distributions"


def _outcomes(runner: Runner, seeds: range) -> Counter[tuple[int, ...]]:
    return Counter(_three_tokens(runner, seed) for seed in seeds)


def _three_tokens(runner: Runner, seed: int) -> tuple[int, ...]:
    sampling = SamplingSettings(temperature=1.0, top_k=4, seed=seed)
    request = Request((1, 300, 310, 320), sampling, lambda update: None, frozenset())
    request.tokens += runner.admit(0, request)
    while len(request.tokens) < 3:
        request.tokens += runner.advance([request])[0]
    return tuple(request.tokens[:3])


def _chi_square_limit(cells: int) -> float:
    """The 99.9 % point by Wilson and Hilferty's approximation."""
    return float(cells * (1 - 2 / (9 * cells) + 3.09 * (2 / (9 * cells)) ** 0.5) ** 3)
