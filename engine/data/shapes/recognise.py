"""Guess the shape of a source from its first rows, and say why."""

from collections import Counter
from collections.abc import Sequence

from engine.data.records import Guess, Mapping, Row, ShapeName
from engine.data.shapes.kinds import SHAPES

ROWS_LOOKED_AT = 100
_MEANINGS = {
    "native": "input_ids and loss_mask: it is already in a target's tokens and passes through untouched",
    "preference pairs": "chosen and rejected: the prompt is asked, neither answer is kept",
    "tool-call trajectory": "messages with tool calls: it is cut before the first call, since no tool can be replayed",
    "OpenAI messages": "a list of role and content: the last answer is cut off",
    "ShareGPT": "a list of from and value, or a transcript: the last answer is cut off",
    "turns": "a list of user turns",
    "issue and patch": "problem_statement with a patch: the issue is asked, without its repository",
    "code problem": "a problem told in parts: they are put together",
    "instruction with tests": "a prompt with tests: the tests are not shown to the target",
    "Alpaca": "instruction, input and output: the input is put below the instruction",
    "prompt and response": "one column asks, another answers",
    "prompt": "one column asks",
    "plain text": "a text with no instruction is asked as it stands: give a template, as in --map "
    "'prompt=Explain this:\n\n{text}'",
}


def recognise(rows: Sequence[Row]) -> Guess:
    """The shape that most of the rows have."""
    found: Counter[tuple[ShapeName, Mapping]] = Counter()
    for row in rows:
        fitted = _fit(row)
        if fitted is not None:
            found[fitted] += 1
    if not found:
        return _by_length(rows)
    (shape, mapping), matched = max(found.items(), key=lambda item: (item[1], -_rank(item[0][0])))
    why = [f"{matched} of {len(rows)} rows: {_MEANINGS[shape]}"]
    named = mapping.messages or mapping.prompt
    if named:
        why.append(f"{'the conversation' if mapping.messages else 'the prompt'} is in {named!r}")
    why += [f"{count} rows look like {other[0]}" for other, count in found.items() if other[0] != shape]
    return Guess(shape=shape, mapping=mapping, sure=True, why=tuple(why), matched=matched, looked_at=len(rows))


def given(mapping: Mapping, rows: Sequence[Row]) -> Guess:
    """A mapping that the operator gave, in place of a guess; what it leaves open is taken from the guess."""
    guess = recognise(rows)
    whole = Mapping(
        messages=mapping.messages,
        prompt=mapping.prompt,
        system=mapping.system or guess.mapping.system,
        id=mapping.id or guess.mapping.id,
        language=mapping.language or guess.mapping.language,
        licence=mapping.licence or guess.mapping.licence,
    )
    if not (whole.messages or whole.prompt):
        whole = Mapping(
            messages=guess.mapping.messages, prompt=guess.mapping.prompt, system=whole.system, id=whole.id,
            language=whole.language, licence=whole.licence,
        )  # fmt: skip
    why = ("as the operator mapped it",)
    return Guess(shape="mapped", mapping=whole, sure=True, why=why, matched=len(rows), looked_at=len(rows))


def _fit(row: Row) -> tuple[ShapeName, Mapping] | None:
    for name, fit in SHAPES:
        mapping = fit(row)
        if mapping is not None:
            return name, mapping
    return None


def _rank(shape: ShapeName) -> int:
    return next(index for index, (name, _) in enumerate(SHAPES) if name == shape)


def _by_length(rows: Sequence[Row]) -> Guess:
    lengths: Counter[str] = Counter()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and " " in value:
                lengths[name] += len(value)
    if not lengths:
        columns = ", ".join(sorted({name for row in rows for name in row})[:8]) or "no columns"
        why = (f"no column holds a prompt or any text ({columns}): this is no source of prompts",)
        return Guess(shape=None, mapping=Mapping(), sure=False, why=why, matched=0, looked_at=len(rows))
    name = lengths.most_common(1)[0][0]
    why = (f"{name!r} holds the longest text, and no shape is known: confirm it with --map prompt={name}",)
    return Guess(shape=None, mapping=Mapping(prompt=name), sure=False, why=why, matched=0, looked_at=len(rows))
