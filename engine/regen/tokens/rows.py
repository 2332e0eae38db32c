"""Rows to train on: token ids and a loss mask which is 1 on what the target said and 0 elsewhere."""

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.regen.records import Message, Stored, TokenTurn
from engine.regen.tokens.template import TemplateRefused
from engine.regen.tokens.tokenizer import TargetTokenizer
from engine.regen.tokens.turns import TokenSequence, sequences, without_end


class Unfit(Exception):
    """A conversation that cannot become rows. `reason` is one word, for counting."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Row(msgspec.Struct, frozen=True):
    """One sequence."""

    id: str
    part: int
    """From 0; more than one where the template rewrites earlier turns, so each answer has its own sequence."""
    origin: str
    """`regenerated` or `native`."""
    source: str
    input_ids: list[int]
    loss_mask: list[int]


def rows_of(stored: Stored, tokenizer: TargetTokenizer) -> list[Row]:
    """An answered sample as rows; checked by decoding what the loss is on.

    Raises:
        Unfit: It cannot be written, or does not survive the tokenizer.
    """
    conversation = stored.conversation()
    if stored.tokens:
        turns = list(stored.tokens)
    else:
        cut = [reason == "length" for reason in stored.finish_reasons]
        turns = turns_of(conversation, stored.sample.tools, cut, tokenizer)
    said = [message for message in conversation if message.role == "assistant"]
    check_turns(turns, said, tokenizer)
    return to_rows(stored.sample.id, "regenerated", stored.source, sequences(turns))


def to_rows(name: str, origin: str, source: str, found: Sequence[TokenSequence]) -> list[Row]:
    """Sequences as rows with their masks."""
    rows = []
    for part, sequence in enumerate(found):
        mask = [0] * len(sequence.input_ids)
        for begin, end in sequence.spans:
            mask[begin:end] = [1] * (end - begin)
        rows.append(Row(name, part, origin, source, sequence.input_ids, mask))
    return rows


def turns_of(
    conversation: Sequence[Message], tools: Sequence[Any] | None, cut: Sequence[bool], tokenizer: TargetTokenizer
) -> list[TokenTurn]:
    """The tokens of a conversation of which only text is known, turn by turn as the template writes them.

    Prompt and answer are encoded apart, as they were when the target answered: a token never spans both.
    `cut`: of each answer, whether it ended at the token limit, so that no token ended it.

    Raises:
        Unfit: The template cannot write it.
    """
    turns: list[TokenTurn] = []
    for place, message in enumerate(conversation):
        if message.role == "assistant":
            turns.append(_turn(conversation[: place + 1], tools, cut[len(turns)], turns, tokenizer))
    return turns


def _turn(
    messages: Sequence[Message],
    tools: Sequence[Any] | None,
    cut: bool,
    before: Sequence[TokenTurn],
    tokenizer: TargetTokenizer,
) -> TokenTurn:
    try:
        asked = tokenizer.render(messages[:-1], tools, answer_follows=True)
        whole = tokenizer.render(messages, tools, answer_follows=False)
        least = tokenizer.render(messages[:-1], tools, answer_follows=False)
    except TemplateRefused as error:
        raise Unfit("template", str(error)) from error
    shared = _shared(asked, whole)  # less than all of `asked` where the template begins the reasoning only when asking
    if shared < len(least):
        raise Unfit("template", "the template writes an answered turn in another way than it asks for it")
    emitted = tokenizer.encode(whole[shared:])
    ends = [place for place, token in enumerate(emitted) if token in tokenizer.end_ids]
    if ends:
        emitted = emitted[: ends[-1] if cut else ends[-1] + 1]
    return TokenTurn(_prompt(whole[:shared], before, tokenizer), emitted)


def _prompt(text: str, before: Sequence[TokenTurn], tokenizer: TargetTokenizer) -> list[int]:
    if before:
        so_far = [*before[-1].prompt_ids, *before[-1].output_ids]
        written = tokenizer.decode(so_far)
        if text.startswith(written):
            return so_far + tokenizer.encode(text[len(written) :])
    return tokenizer.encode(text)


def _shared(one: str, other: str) -> int:
    if other.startswith(one):
        return len(one)
    return next(place for place, (a, b) in enumerate(zip(one + "\0", other + "\1", strict=False)) if a != b)


def check_turns(turns: Sequence[TokenTurn], said: Sequence[Message], tokenizer: TargetTokenizer) -> None:
    """Decode what the loss is on, and find in it what the assistant said, and nothing of the prompt.

    Raises:
        Unfit: It is not there.
    """
    if len(turns) != len(said):
        raise Unfit("turns", f"{len(said)} answers, and tokens of {len(turns)}")
    for turn, message in zip(turns, said, strict=True):
        text = tokenizer.decode(without_end(tokenizer, turn.output_ids))
        for part in (message.reasoning_content or "", message.content):
            if part.strip() not in text:
                raise Unfit("decoding", f"{part.strip()[:60]!r} is not in what the loss is on: {text[:60]!r}")
        if not turn.output_ids:
            raise Unfit("empty", "no token to train on")


def spans_of(mask: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Begin and end of each run of ones."""
    padded = [0, *mask, 0]
    edges = [place for place in range(len(mask) + 1) if padded[place] != padded[place + 1]]
    return tuple(zip(edges[::2], edges[1::2], strict=True))
