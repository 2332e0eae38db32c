"""Training data as tokens: what counts as an answer, what is held out, in what order it comes."""

import json
import os
from pathlib import Path

import numpy
import pytest

from engine.reference.checkpoint import shipped_target
from engine.reference.training.conversations import batches, chosen, padded, read_conversations, split
from engine.reference.training.settings import CannotTrain
from engine.reference.vocabulary import ChatMessage, Vocabulary

VOCABULARY = Vocabulary(shipped_target())


def _file(folder: Path, *records: object) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _talk(number: int, turns: int = 1) -> dict[str, object]:
    said = [("user", f"def f{number}():"), ("assistant", f"\n    return {number}")] * turns
    return {"id": str(number), "conversations": [{"role": role, "content": text} for role, text in said]}


def test_the_answer_and_its_end_count_and_nothing_else(tmp_path: Path) -> None:
    (one,) = read_conversations([_file(tmp_path, _talk(7))], VOCABULARY, 2048, 512)
    prompt = VOCABULARY.chat([ChatMessage("user", "def f7():")])
    assert one.tokens[: len(prompt)].tolist() == prompt
    assert not one.answers[: len(prompt)].any()
    said = one.tokens[one.answers].tolist()
    assert VOCABULARY.decode(said) == "\n    return 7"
    assert said[-1] == VOCABULARY.end_id


def test_every_answer_of_a_longer_talk_counts(tmp_path: Path) -> None:
    (one,) = read_conversations([_file(tmp_path, _talk(7, turns=3))], VOCABULARY, 2048, 512)
    assert VOCABULARY.decode(one.tokens[one.answers].tolist()) == "\n    return 7" * 3


def test_tokens_and_marks_are_taken_as_they_are_and_cut(tmp_path: Path) -> None:
    row = {"input_ids": [5, 6, 7, 8], "loss_mask": [0, 0, 1, 1]}
    (one,) = read_conversations([_file(tmp_path, row, row)], VOCABULARY, 2048, 3)
    assert (one.tokens.tolist(), one.answers.tolist()) == ([5, 6, 7], [False, False, True])


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([1], "no object"),
        ({"text": "x"}, "no conversations"),
        ({"messages": [{"role": "user"}]}, "without role or content"),
        ({"input_ids": [1, 2], "loss_mask": [1]}, "one length"),
        ({"input_ids": [1, 99_999], "loss_mask": [1, 1]}, "outside the target's 2048"),
        ({"messages": [{"role": "user", "content": "x"}]}, "no conversation has an answer"),
    ],
)
def test_bad_records_are_named(tmp_path: Path, record: object, said: str) -> None:
    with pytest.raises(CannotTrain, match=said):
        read_conversations([_file(tmp_path, record)], VOCABULARY, 2048, 512)


def test_no_file_no_training(tmp_path: Path) -> None:
    with pytest.raises(CannotTrain, match="No such file"):
        read_conversations([tmp_path / "none.jsonl"], VOCABULARY, 2048, 512)


def test_what_is_held_out_does_not_depend_on_the_rest(tmp_path: Path) -> None:
    few = read_conversations([_file(tmp_path, *map(_talk, range(100)))], VOCABULARY, 2048, 512)
    many = read_conversations([_file(tmp_path, *map(_talk, range(400)))], VOCABULARY, 2048, 512)
    held_few, held_many = ({row.tokens.tobytes() for row in split(rows, 0.2)[1]} for rows in (few, many))
    assert held_few < held_many
    assert 40 < len(held_many) < 120


def test_a_smaller_choice_lies_within_a_larger_one(tmp_path: Path) -> None:
    rows = read_conversations([_file(tmp_path, *map(_talk, range(50)))], VOCABULARY, 2048, 512)
    small, large = ({row.tokens.tobytes() for row in chosen(rows, count, 3)} for count in (10, 30))
    assert len(small) == 10 and small < large


def test_an_epoch_passes_each_row_once_and_the_same_way() -> None:
    lengths = [number % 40 + 3 for number in range(103)]
    steps = batches(lengths, 8, 1, 0)
    seen = numpy.concatenate(steps)
    assert len(seen) == len(set(seen.tolist())) == 96, "a rest that fills no step waits for the next epoch"
    assert [step.tolist() for step in steps] == [step.tolist() for step in batches(lengths, 8, 1, 0)]
    assert [step.tolist() for step in steps] != [step.tolist() for step in batches(lengths, 8, 1, 1)]


def test_padding_counts_nothing(tmp_path: Path) -> None:
    rows = read_conversations([_file(tmp_path, _talk(1), _talk(100_000))], VOCABULARY, 2048, 512)
    tokens, answers = padded(rows, 0)
    assert tokens.shape == answers.shape == (2, max(len(row.tokens) for row in rows))
    assert answers.sum() == sum(row.answers.sum() for row in rows)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(CannotTrain, match="no regular file"):
        read_conversations([tmp_path / "pipe.jsonl"], VOCABULARY, 2048, 64)
