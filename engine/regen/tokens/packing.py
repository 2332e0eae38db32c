"""The tokens of an answer as bytes, small and with a checksum."""

import zlib
from array import array
from collections.abc import Sequence

from engine.regen.records import TokenTurn


def packed(turns: Sequence[TokenTurn]) -> bytes:
    """Each turn's prompt, of which what it shares with the turn before is left out, then what was emitted."""
    flat, before = array("i"), array("i")
    for turn in turns:
        prompt = array("i", turn.prompt_ids)
        shared = len(before) if prompt[: len(before)] == before else 0
        flat.extend([shared, len(prompt) - shared, len(turn.output_ids)])
        flat.extend(prompt[shared:])
        flat.extend(turn.output_ids)
        before = prompt + array("i", turn.output_ids)
    return zlib.compress(flat.tobytes(), 1)


def unpacked(body: bytes) -> tuple[TokenTurn, ...]:
    """The turns again.

    Raises:
        ValueError: The bytes are damaged.
    """
    try:
        flat = array("i", zlib.decompress(body)).tolist()
    except zlib.error as error:
        raise ValueError(f"stored tokens are damaged: {error}") from error
    turns: list[TokenTurn] = []
    before: list[int] = []
    at = 0
    while at < len(flat):
        shared, added, emitted = flat[at : at + 3]
        prompt = before[:shared] + flat[at + 3 : at + 3 + added]
        output = flat[at + 3 + added : at + 3 + added + emitted]
        turns.append(TokenTurn(prompt, output))
        before = [*prompt, *output]
        at += 3 + added + emitted
    return tuple(turns)
