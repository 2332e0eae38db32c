"""A conversation in tokens: what the target is asked next, with its own tokens kept as it emitted them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.regen.records import Message, TokenTurn
from engine.regen.tokens.tokenizer import TargetTokenizer

THINKING = (("<think>", "</think>"), ("◁think▷", "◁/think▷"))
"""Marks around reasoning: DeepSeek, Qwen, GLM and most others; Kimi."""


class TokenSequence(msgspec.Struct, frozen=True):
    """Tokens to train on, and which of them the target emitted."""

    input_ids: list[int]
    spans: tuple[tuple[int, int], ...]
    """Begin and end (not included) of each emitted stretch."""


def next_prompt(
    tokenizer: TargetTokenizer, messages: Sequence[Message], tools: Sequence[Any] | None, before: Sequence[TokenTurn]
) -> list[int]:
    """Tokens of the next prompt.

    Where the template writes the conversation so far just as it was emitted, those tokens are kept, and only what comes
    between is encoded. A template that rewrites earlier turns (one that drops their reasoning) is followed instead:
    that is what the draft will meet when it serves.

    Raises:
        TemplateRefused: The template cannot write the conversation.
    """
    text = tokenizer.render(messages, tools, answer_follows=True)
    if before:
        last = before[-1]
        so_far = [*last.prompt_ids, *last.output_ids]
        written = tokenizer.decode(so_far)
        if text.startswith(written):
            return so_far + tokenizer.encode(text[len(written) :])
    return tokenizer.encode(text)


def message_from(text: str, prompt: str) -> Message:
    """The assistant's message in what it emitted; `prompt` is the text before, which may have begun the reasoning."""
    for begin, end in THINKING:
        begun = prompt.rstrip().endswith(begin)
        if not begun and not text.lstrip().startswith(begin):
            continue
        inner = text if begun else text.lstrip()[len(begin) :]
        reasoning, mark, content = inner.partition(end)
        return Message("assistant", content.lstrip("\n") if mark else "", reasoning.strip("\n") or None)
    return Message("assistant", text)


def without_end(tokenizer: TargetTokenizer, tokens: Sequence[int]) -> Sequence[int]:
    """What was emitted, less the token that ended it."""
    return tokens[:-1] if tokens and tokens[-1] in tokenizer.end_ids else tokens


def sequences(turns: Sequence[TokenTurn]) -> list[TokenSequence]:
    """Turns whose prompt goes on where the turn before ended become one sequence; others stand apart."""
    found: list[TokenSequence] = []
    for turn in turns:
        begin = len(turn.prompt_ids)
        span = (begin, begin + len(turn.output_ids))
        tokens = [*turn.prompt_ids, *turn.output_ids]
        if found and tokens[: len(found[-1].input_ids)] == found[-1].input_ids:
            found[-1] = TokenSequence(tokens, (*found[-1].spans, span))
        else:
            found.append(TokenSequence(tokens, (span,)))
    return found
