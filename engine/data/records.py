"""What the data part reads and makes."""

from typing import Any, Literal

import msgspec

Row = dict[str, Any]
"""One decoded record of a data set."""

Reason = Literal[
    "broken_json", "bad_encoding", "huge_row", "not_an_object", "damaged_file", "unknown_shape", "null_prompt",
    "empty_prompt", "not_text", "role_order", "cut_cell", "benchmark_id", "benchmark_overlap", "too_short", "too_long",
    "language", "code_share", "licence", "exact_duplicate", "near_duplicate", "over_quota", "bad_native",
    "outside_vocabulary",
]  # fmt: skip
"""Why a record was left out."""

ShapeName = Literal[
    "native", "preference pairs", "tool-call trajectory", "OpenAI messages", "ShareGPT", "turns", "issue and patch",
    "code problem", "instruction with tests", "Alpaca", "prompt and response", "prompt", "plain text", "mapped",
]  # fmt: skip


class BadRow(msgspec.Struct, frozen=True):
    """A row that could not be read, and why."""

    reason: Reason
    message: str


Raw = bytes | dict[str, Any] | BadRow
"""A row as its reader gives it: a JSON line still to be decoded, a decoded record, or why it could not be read."""


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file, or one split of a hub data set."""

    path: str | None = None
    hub: str | None = None
    """`owner/name`."""
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    """Commit, branch or tag of a hub data set."""
    encoding: str = "utf-8"
    """Of text files. A UTF-16 or UTF-8 byte order mark at the start of a file counts more."""

    @property
    def label(self) -> str:
        """As the operator would write it."""
        if self.path is not None:
            return self.path
        parts = [self.hub or "?", self.config, self.split]
        return ":".join(part for part in parts if part)


class Mapping(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which columns hold what. A prompt is made of one column, of several (`title+description`), or of a template
    (`Complete this:\\n\\n{prompt}`)."""

    messages: str | None = None
    """Column with a list of messages or of user turns."""
    prompt: str | None = None
    system: str | None = None
    id: str | None = None
    language: str | None = None
    licence: str | None = None


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    """What the first rows of a source look like."""

    shape: ShapeName | None
    mapping: Mapping
    sure: bool
    """False where the column was chosen for its length only: the operator should confirm it with a mapping."""
    why: tuple[str, ...]
    matched: int
    looked_at: int


class Message(msgspec.Struct, frozen=True):
    """One turn."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True):
    """Messages up to the turn that the target must answer."""

    messages: tuple[Message, ...]
    id: str | None = None
    language: str | None = None
    """As the record itself names it: a programming or a natural language."""
    licence: str | None = None


class Native(msgspec.Struct, frozen=True):
    """A record that is already in the target's tokens; it passes through untouched."""

    input_ids: list[int]
    loss_mask: list[int]
    id: str | None = None


class Unusable(Exception):
    """A record holds no prompt that can be asked."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class SourceError(Exception):
    """A source cannot be read at all. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
