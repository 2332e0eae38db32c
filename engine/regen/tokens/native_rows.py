"""Rows from samples that are the target's own already."""

from collections.abc import Sequence

from engine.regen.native import Native
from engine.regen.records import Message
from engine.regen.tokens.rows import Row, Unfit, check_turns, spans_of, to_rows, turns_of
from engine.regen.tokens.template import TemplateRefused
from engine.regen.tokens.tokenizer import TargetTokenizer
from engine.regen.tokens.turns import TokenSequence, sequences


def native_rows(native: Native, tokenizer: TargetTokenizer) -> list[Row]:
    """One native sample as rows.

    Raises:
        Unfit: It cannot be written, or the loss would be on nothing.
    """
    if native.input_ids is not None and native.loss_mask is not None:
        found = [TokenSequence(native.input_ids, spans_of(native.loss_mask))]
        if any(not 0 <= token < tokenizer.size for token in native.input_ids):
            raise Unfit("vocabulary", f"a token outside the vocabulary of {tokenizer.size}")
    elif native.text is not None:
        found = [_from_text(native.text, tokenizer)]
    else:
        said = [message for message in native.conversation if message.role == "assistant"]
        turns = turns_of(native.conversation, native.tools, [False] * len(said), tokenizer)
        check_turns(turns, said, tokenizer)
        found = sequences(turns)
    if not all(sequence.spans for sequence in found):
        raise Unfit("empty", "no token to train on: is it in this template's form?")
    return to_rows(native.id, "native", native.source, found)


def _from_text(text: str, tokenizer: TargetTokenizer) -> TokenSequence:
    """The loss is on what stands between each of the template's assistant headers and the token that ends an answer."""
    tokens, header = tokenizer.encode(text), assistant_header(tokenizer)
    spans, begin = [], None
    for place in range(len(tokens)):
        if begin is None and place >= len(header) and tokens[place - len(header) : place] == header:
            begin = place
        if begin is not None and tokens[place] in tokenizer.end_ids:
            spans.append((begin, place + 1))
            begin = None
    if begin is not None:
        spans.append((begin, len(tokens)))
    return TokenSequence(tokens, tuple(spans))


def assistant_header(tokenizer: TargetTokenizer) -> Sequence[int]:
    """What the template writes before an answer."""
    question = [Message("user", "x")]
    try:
        before = tokenizer.render(question, None, answer_follows=False)
        asked = tokenizer.render(question, None, answer_follows=True)
    except TemplateRefused as error:
        raise Unfit("template", str(error)) from error
    if not asked.startswith(before) or asked == before:
        raise Unfit("template", "the template writes nothing before an answer")
    return tokenizer.encode(asked[len(before) :])
