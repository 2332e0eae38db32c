"""Which answers an export holds, and on which side of the train/held-out split each stands."""

import hashlib
from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.regen.records import FlawKind, Message, Stored

Side = Literal["train", "held_out"]


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked of an export. Kept in its manifest, so that a proof can repeat it."""

    without: tuple[FlawKind, ...] = ()
    """Answers with these flaws are left out."""
    held_out: float = 0.0
    """Share of prompts kept apart from training."""
    native: tuple[str, ...] = ()
    """Files of conversations that are the target's own already, joined behind the answers."""
    tokenizer: str | None = None
    """Folder of the target's tokenizer, for Parquet."""
    max_length: int | None = None
    """Longest row in tokens; longer ones are left out."""


def flaw_left_out(stored: Stored, options: ExportOptions) -> str | None:
    """The flaw for which an answer is left out."""
    return next((flaw for flaw in options.without if flaw in stored.flaws), None)


def side_of(prompt: Sequence[Message], held_out: float) -> Side:
    """The side of a prompt: by a hash of all that system and users say, so several answers to it stay together, and
    adding data moves nothing."""
    texts = [f"{message.role}\0{message.content}" for message in prompt if message.role in ("system", "user")]
    return side_of_hash(hashlib.sha256(msgspec.json.encode(texts)).digest(), held_out)


def side_of_hash(digest: bytes, held_out: float) -> Side:
    """The side of a hash."""
    return "held_out" if int.from_bytes(digest[:8], "big") < held_out * 2**64 else "train"
