"""One thing that was looked at."""

from typing import Literal

import msgspec

Verdict = Literal["good", "note", "problem"]
"""`note`: something works less well, or is off. `problem`: something will not work."""


class Examination(msgspec.Struct, frozen=True):
    """What was found, and what to do about it."""

    area: str
    """Terminal, State, GPUs, Engine, Serving or Software."""
    name: str
    verdict: Verdict
    found: str
    """In words, with figures."""
    remedy: str = ""
    """Empty where all is well."""
