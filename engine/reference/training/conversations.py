"""Training data: conversations as tokens, with a mark on what the target said."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy
import xxhash
from numpy.typing import NDArray

from engine.reference.training.settings import CannotTrain
from engine.reference.vocabulary import ChatMessage, Vocabulary
from state.outside_file import open_regular

FORMS = "conversations or messages of role and content, or input_ids with loss_mask"
HELD_OUT_PARTS = 10_000


class Conversation(NamedTuple):
    """Tokens, and which of them are the target's answers."""

    tokens: NDArray[numpy.int64]
    answers: NDArray[numpy.bool_]


def read_conversations(files: Sequence[Path], vocabulary: Vocabulary, size: int, longest: int) -> list[Conversation]:
    """All conversations of JSONL files that have an answer within the first `longest` tokens, each once.

    `size` is the number of ids that the target knows.

    Raises:
        CannotTrain: A file cannot be read, a line is of no known form, or nothing is left.
    """
    found: dict[int, Conversation] = {}
    for path in files:
        for number, record in _records(path):
            try:
                one = _conversation(record, vocabulary, size)
            except ValueError as error:
                raise CannotTrain(f"{path}:{number}: {error}", f"give JSONL with {FORMS}") from error
            cut = Conversation(one.tokens[:longest], one.answers[:longest])
            if cut.answers[2:].any():
                found.setdefault(_digest(cut), cut)
    if not found:
        raise CannotTrain(f"{', '.join(map(str, files))}: no conversation has an answer", "raise --max-length, or look")
    return list(found.values())


def split(rows: list[Conversation], held_out: float) -> tuple[list[Conversation], list[Conversation]]:
    """What to train on and what to hold out, by content: the same in any order and any amount of other data."""
    limit = held_out * HELD_OUT_PARTS
    kept = [row for row in rows if _digest(row) % HELD_OUT_PARTS >= limit]
    return kept, [row for row in rows if _digest(row) % HELD_OUT_PARTS < limit]


def chosen(rows: list[Conversation], count: int | None, seed: int) -> list[Conversation]:
    """The first `count` in an order that follows from content and seed, so smaller choices lie within larger ones."""
    order = sorted(rows, key=lambda row: _digest(row, seed + 1))
    return order if count is None else order[:count]


def batches(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[NDArray[numpy.int64]]:
    """Row numbers of each step of an epoch: shuffled, with conversations of like length together. A rest is left out.

    The same for the same arguments, so that a run can go on in the midst of an epoch.
    """
    choose = numpy.random.default_rng((seed, epoch))
    order = choose.permutation(len(lengths))
    sizes, block = numpy.array(lengths), batch * 16
    like = [
        part[numpy.argsort(sizes[part], kind="stable")] for part in numpy.split(order, range(block, len(order), block))
    ]
    together = numpy.concatenate(like)
    count = max(1, len(together) // batch)
    steps = [together[start * batch : (start + 1) * batch] for start in range(count)]
    return [steps[index] for index in choose.permutation(count)]


def padded(
    rows: Sequence[Conversation], fill: int, width: int | None = None
) -> tuple[NDArray[numpy.int64], NDArray[numpy.bool_]]:
    """Tokens and marks as two tables, as wide as the longest row, or `width`."""
    wide = width or max(len(row.tokens) for row in rows)
    tokens = numpy.full((len(rows), wide), fill, dtype=numpy.int64)
    marks = numpy.zeros((len(rows), wide), dtype=numpy.bool_)
    for index, row in enumerate(rows):
        tokens[index, : len(row.tokens)], marks[index, : len(row.tokens)] = row
    return tokens, marks


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    decoder = msgspec.json.Decoder()
    try:
        with open_regular(path) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, decoder.decode(line)
    except OSError as error:
        raise CannotTrain(f"{path} cannot be read: {error.strerror}", "give a JSONL file with --data") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CannotTrain(f"{path}: {error}", f"give JSONL with {FORMS}") from error


def _conversation(record: Any, vocabulary: Vocabulary, size: int) -> Conversation:
    if not isinstance(record, dict):
        raise ValueError("the line is no object")
    if "input_ids" in record:
        tokens, marks = (
            numpy.array(record["input_ids"]),
            numpy.array(record.get("loss_mask", [1] * len(record["input_ids"]))),
        )
        if tokens.ndim != 1 or tokens.shape != marks.shape or tokens.dtype.kind != "i":
            raise ValueError("input_ids and loss_mask are not two lists of one length")
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < size:
            raise ValueError(f"a token outside the target's {size}")
        return Conversation(tokens.astype(numpy.int64), marks.astype(numpy.bool_))
    messages = record.get("conversations", record.get("messages"))
    if not isinstance(messages, list) or not messages:
        raise ValueError("no conversations, messages or input_ids")
    try:
        plain = [ChatMessage(str(one["role"]), str(one["content"])) for one in messages]
    except (TypeError, KeyError) as error:
        raise ValueError("a message without role or content") from error
    return _chat(plain, vocabulary)


def _chat(messages: list[ChatMessage], vocabulary: Vocabulary) -> Conversation:
    """A chat as a server would have seen it: each prompt by the template, then the answer up to its end of turn."""
    tokens: list[int] = []
    marks: list[bool] = []
    written = ""
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        prompt = vocabulary.render(messages[:index], answer_follows=True)
        whole = vocabulary.render(messages[: index + 1], answer_follows=False)
        if not prompt.startswith(written) or not whole.startswith(prompt):
            raise ValueError("the chat template rewrites earlier turns")
        asked = vocabulary.encode(prompt[len(written) :], special=False)
        answer = vocabulary.encode(whole[len(prompt) :], special=False)
        said = answer.index(vocabulary.end_id) + 1 if vocabulary.end_id in answer else len(answer)
        tokens += asked + answer
        marks += [False] * len(asked) + [True] * said + [False] * (len(answer) - said)
        written = whole
    return Conversation(numpy.array(tokens, dtype=numpy.int64), numpy.array(marks, dtype=numpy.bool_))


def _digest(row: Conversation, seed: int = 0) -> int:
    return xxhash.xxh3_64_intdigest(row.tokens.tobytes() + row.answers.tobytes(), seed)
