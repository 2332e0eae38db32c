"""What a console asks of the engine, and what the engine answered."""

from typing import Any, Literal

import msgspec

Outcome = Literal["done", "refused", "failed"]


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the `command` table. Consoles insert it; only the engine fills in the answer."""

    id: int = 0
    kind: str
    """Dotted name of what is asked, for example `jobs.launch`."""
    arguments: dict[str, Any] = {}
    issued_by: str
    """Who asked: `user@host pid`."""
    issued_at: float
    answered_at: float | None = None
    outcome: Outcome | None = None
    answer: dict[str, Any] = {}
    """On `refused` and `failed`: `message` says what is wrong and `remedy` what to do."""
