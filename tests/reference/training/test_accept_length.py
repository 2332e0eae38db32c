"""The walk over known answers, against a real server's counts of verifications."""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.reference.training.accept_length import simulated_accept_length, walked

RECORDED: Any = json.loads((Path(__file__).parents[1] / "recorded" / "sglang-0.5.17-h200.json").read_text())
STEPS = 3


def _named(tokens: list[int], wrong: set[tuple[int, int]]) -> numpy.ndarray:
    """A draft that names every token, but at these (depth, position)."""
    named = numpy.array([tokens[2:]] * STEPS)
    for depth, position in wrong:
        named[depth, position - 2] = -1
    return named


def _walk(answers: int, wrong: set[tuple[int, int]]) -> tuple[int, int]:
    tokens = list(range(10, 15 + answers))
    marks = numpy.arange(len(tokens)) >= 5
    return walked(numpy.array(tokens), marks, _named(tokens, wrong))


def test_a_draft_that_is_always_right_commits_a_whole_chain_and_one_more() -> None:
    assert _walk(9, set()) == (8, 2), "the first token comes from the prompt pass, then 4 and 4"


def test_a_draft_that_is_always_wrong_commits_the_target_s_own_token() -> None:
    everywhere = {(depth, position) for depth in range(STEPS) for position in range(2, 14)}
    assert _walk(9, everywhere) == (8, 8)


def test_a_chain_ends_at_its_first_wrong_token() -> None:
    assert _walk(9, {(1, 7)}) == (8, 3), "6, and 7 from the target; then 8 to 11; then 12 and 13"
    assert _walk(9, {(2, 7)}) == (8, 2), "no chain has position 7 at its third step"


def test_the_end_of_an_answer_ends_a_chain() -> None:
    assert _walk(3, set()) == (2, 1)
    assert _walk(1, set()) == (0, 0)


def test_the_sum_over_depths_counts_the_bonus_token() -> None:
    assert simulated_accept_length((0.5, 0.5)) == 1.75


@pytest.mark.train
def test_held_out_answers_predict_what_a_real_server_accepts() -> None:
    """The shipped draft on the answers that SGLang 0.5.17 gave on an H200, against that server's own count."""
    pytest.importorskip("torch")
    from engine.reference.checkpoint import shipped_draft, shipped_target
    from engine.reference.training.conversations import Conversation
    from engine.reference.training.draft_training import DraftTraining
    from engine.reference.training.export import read_config, read_draft, read_target
    from engine.reference.training.settings import TrainingSettings
    from engine.reference.training.shapes import shape_of
    from engine.reference.vocabulary import Vocabulary

    vocabulary, rows = Vocabulary(shipped_target()), []
    for answer in RECORDED["answers"]:
        prompt = vocabulary.encode(answer["prompt"])
        tokens = numpy.array([*prompt, *answer["tokens"]])
        rows.append(Conversation(tokens, numpy.arange(len(tokens)) >= len(prompt)))
    draft, covered = read_draft(shipped_draft())
    settings = TrainingSettings(data=(), output=Path(), steps=1, depth=STEPS, batch=8)
    shape = shape_of(read_config(shipped_target()), len(covered))
    held = DraftTraining(settings, shape, read_target(shipped_target()), rows, covered, draft).evaluate(rows)
    assert held.accept_length == pytest.approx(RECORDED["accept_length"]["EAGLE3"], abs=0.05)
    assert held.samples == len(rows)
    # Depths are not independent of one another: the sum over them is near the truth, not the truth.
    assert held.simulated_accept_length == pytest.approx(held.accept_length, abs=0.35)
