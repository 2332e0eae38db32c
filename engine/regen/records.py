"""What a regeneration reads, asks and stores."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from engine.regen.shards import Shard

FailureKind = Literal[
    "timeout", "refused_by_server", "context_too_long", "not_allowed", "not_found", "redirected", "rubbish_answer",
    "empty_answer", "too_large", "server_error", "connection_lost", "program_error",
]  # fmt: skip

FlawKind = Literal["cut_by_length", "repetition", "refusal", "other_language", "echo"]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of a conversation, as SpecForge's training parser reads it (a6b6b02, specforge/data/parse.py)."""

    role: Literal["system", "user", "assistant"]
    content: str
    reasoning_content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt: at most one system message, then the user's turns. What the assistant said in the input is dropped."""

    id: str
    users: tuple[str, ...]
    system: str | None = None
    tools: list[dict[str, Any]] | None = None
    """Tools that the assistant may call, as the chat surface takes them."""
    copy: int = 1
    """Which of several answers to the same prompt this asks for."""


class Rejection(msgspec.Struct, frozen=True):
    """An input record that cannot be used, where it stands, and what to do about it."""

    file: str
    line: int
    reason: str
    remedy: str


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the server is asked to sample. `None` leaves it to the server's default."""

    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is: fixed when it starts, kept in its folder as `plan.json`."""

    name: str
    inputs: tuple[str, ...]
    server_url: str
    model: str
    """As the server names it. A server that comes back with another model pauses the run."""
    sampling: Sampling
    concurrency: int
    """Requests at once; 0: found by trying."""
    limit: int | None = None
    sampling_by_source: dict[str, Sampling] = {}
    """Input to how its samples are sampled, where that differs."""
    samples: int = 1
    """Answers to each prompt."""
    tokenizer: str | None = None
    """Folder with the target's tokenizer. The server is then asked in tokens, and its tokens are kept as they are."""
    allow_lossy: bool = False
    """Take answers of servers whose flags let tokens stand that the target would not have drawn."""
    limit_s: float | None = None
    """Longest time that an answer may take, in place of what follows from its tokens."""
    shard: Shard | None = None
    """Which part of the inputs' samples it has; `None`: all."""
    on: str = "local"
    """Where its worker runs, as `alula jobs launch --on` takes it."""
    created_at: float


class TokenTurn(msgspec.Struct, frozen=True):
    """One turn in tokens."""

    prompt_ids: Sequence[int]
    """The whole conversation before it, as the target was given it."""
    output_ids: Sequence[int]
    """Exactly as the target emitted them, the one that ended it included."""


class Turn(msgspec.Struct, frozen=True):
    """One assistant turn as the server gave it."""

    message: Message
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    model: str
    tokens: TokenTurn | None = None
    """Where the turn was asked for in tokens."""
    weight_version: str = ""
    """Of the weights that answered, where the server says so (sglang 0.5.23, utils/weight_versions.py)."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A sample answered in all its turns."""

    number: int
    """The sample's place in the run, from 1."""
    assistants: tuple[Message, ...]
    """As many as the sample has user turns; fewer where one called a tool, for what follows would answer nothing."""
    finish_reasons: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    flaws: tuple[FlawKind, ...] = ()
    """What looks wrong with it."""
    tokens: tuple["TokenTurn", ...] = ()
    """Of each turn, where it was asked for in tokens."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """An answered sample as the store holds it."""

    number: int
    source: str
    sample: Sample
    assistants: tuple[Message, ...]
    finish_reasons: tuple[str, ...]
    flaws: tuple[str, ...] = ()
    tokens: tuple[TokenTurn, ...] = ()

    def conversation(self) -> list[Message]:
        """System, user and assistant messages in order."""
        found = [Message("system", self.sample.system)] if self.sample.system is not None else []
        for user, assistant in zip(self.sample.users, self.assistants, strict=False):
            found += [Message("user", user), assistant]
        return found


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A sample that could not be answered, after all tries."""

    number: int
    kind: FailureKind
    message: str
    tries: int


class Extent(msgspec.Struct, frozen=True):
    """The numbers of the samples that came from one input, first and last included."""

    name: str
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many samples."""
        return self.last - self.first + 1


class SourceTally(msgspec.Struct, frozen=True):
    """What became of the samples of one input."""

    extent: Extent
    done: int = 0
    tokens: int = 0
    squares: float = 0.0
    """Of the answers' lengths in tokens."""
    failed: dict[str, int] = {}


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What a run's store holds."""

    total: int
    rejected: int
    done: int
    cut_by_length: int
    prompt_tokens: int
    completion_tokens: int
    failed: dict[str, int]
