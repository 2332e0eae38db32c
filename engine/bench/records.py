"""What a benchmark is told to do, and what it keeps of each request. Files of a run folder hold these records."""

from typing import Any, Literal

import msgspec

from state.secret_words import shown_text

Api = Literal["auto", "generate", "chat", "completions"]
"""`generate` is SGLang's own endpoint, the only one that tells verifications of each request."""
FailureKind = Literal[
    "refused", "connection_lost", "timeout", "stalled", "http_error", "server_error", "rubbish", "empty", "endless",
    "too_large", "cut",
]  # fmt: skip
PromptKind = Literal["file", "random"]


class Failed(Exception):
    """One request has failed."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class BenchError(Exception):
    """A benchmark cannot begin or go on. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(shown_text(message))
        self.remedy = remedy


class PromptSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the prompts come from. The same set and seed give the same prompts in the same order."""

    kind: PromptKind = "file"
    path: str = ""
    """JSONL (or gzip, or a JSON array) with messages, conversations, prompt or turns."""
    limit: int | None = None
    seed: int = 0
    shuffle: bool = False
    input_words: tuple[int, int] = (128, 512)
    """For `random`: fewest and most words; a word of English is 1.3 tokens or so."""
    count: int = 64
    """For `random`: how many prompts."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How answers are drawn. Temperature 0 is greedy, and only greedy answers can be compared word for word."""

    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 256
    ignore_eos: bool = False
    """Go on to `max_tokens` whatever comes: a fixed output length, at the price of text that nobody would ask for."""


class Load(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How requests arrive: so many at once, or so many a second at random moments (Poisson)."""

    concurrency: int | None = None
    rate: float | None = None
    requests: int | None = None
    """`None`: each prompt once, or until `duration_s` is over."""
    duration_s: float | None = None
    warmup: int = 0
    """Requests asked before and dropped."""

    @property
    def name(self) -> str:
        """For file names and tables: `c8`, or `r2.5`."""
        return f"c{self.concurrency}" if self.rate is None else f"r{self.rate:g}"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration: a server that runs already (`url`), or a command that starts one."""

    name: str
    url: str = ""
    command: tuple[str, ...] = ()
    """`{port}` stands for a free port."""
    environment: dict[str, str] = {}
    working_dir: str = "/"
    ready_timeout_s: float = 1800.0
    launch_despite_errors: bool = False
    """Start it although the checker finds errors; the result is void all the same."""
    num_steps: int | None = None
    """As asked for; what the server resolved stands in the provenance."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that one benchmark or sweep measures; kept in its folder as `plan.json`."""

    name: str
    kind: Literal["run", "sweep", "tune"] = "run"
    points: tuple[Point, ...]
    baseline: str = ""
    """Name of the point that the others are compared with; empty where there is none."""
    loads: tuple[Load, ...]
    repeats: int = 1
    """Whole rounds over all points, so that a drift of the machine meets all of them alike."""
    prompts: PromptSet
    sampling: Sampling = Sampling()
    api: Api = "auto"
    stream: bool = True
    raw: bool = False
    """Send prompts as they stand, without the model's chat template."""
    flush_cache: bool = False
    """Empty the server's prefix cache before each load. Not on a server that others use."""
    api_key_variable: str = ""
    """Environment variable that holds the server's API key."""
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs whose power counts; found by the server's processes where empty."""
    gain: float = 0.02
    """Of a search: a point that can be faster by no more than this share is not launched."""
    created_at: float = 0.0


class Prompt(msgspec.Struct, frozen=True):
    """One conversation to hold: its user turns, asked one after another."""

    id: str
    turns: tuple[str, ...]
    system: str | None = None


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one request gave. Times in seconds of a monotonic clock, from the moment that its bytes were sent."""

    prompt: str
    """The prompt's id; `#2` for the second turn of a conversation."""
    started_s: float
    """Since the load began."""
    late_s: float = 0.0
    """Open loop: how long after its planned moment it was sent."""
    ttft_s: float | None = None
    first_tokens: int = 1
    """Tokens that arrived together as the first ones."""
    e2e_s: float | None = None
    """To the arrival of the last token."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    counted_by_server: bool = True
    """False where the number of streamed pieces stands for the number of tokens."""
    itl_p50_s: float | None = None
    itl_max_s: float | None = None
    verifications: int | None = None
    histogram: tuple[int, ...] = ()
    """Rounds with exactly k drafted tokens accepted, by k."""
    finish_reason: str | None = None
    text: str = ""
    failure: FailureKind | None = None
    message: str = ""


class ClientCost(msgspec.Struct, frozen=True, kw_only=True):
    """What the load generator itself used while it measured."""

    cpu_s: float
    wall_s: float
    requests: int
    loop_lag_p50_s: float
    loop_lag_p99_s: float
    loop_lag_max_s: float
    late_p99_s: float = 0.0
    clock_step_s: float = 0.0
    """By how much the wall clock was set during the measurement; the monotonic clock does not know it."""

    @property
    def cpu_share(self) -> float:
        """Of one core."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0


class CellEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How one load on one point in one repeat ended; written last, so that its presence says: complete."""

    point: str
    load: Load
    repeat: int
    began_at: float
    """UTC seconds."""
    wall_s: float
    client: ClientCost
    ended_early: str = ""
    """Why not all was asked; empty where it was."""
    power_w: float | None = None
    """Mean of the GPUs' sum, from the watcher."""
    memory_bytes: int | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """On what a point was measured."""

    url: str
    framework: str | None = None
    version: str | None = None
    model: str | None = None
    api: Api = "generate"
    templated: bool = False
    """Whether prompts went through a chat template, by us or by the server."""
    server_info: dict[str, Any] = {}
    command: tuple[str, ...] = ()
    checkpoints: dict[str, str] = {}
    """Path to SHA-256 of its config and weight headers."""
    gpus: tuple[str, ...] = ()
    driver: str | None = None
    alula: str = ""
    errors: tuple[str, ...] = ()
    """Rules of the checker that found an error."""
    warnings: tuple[str, ...] = ()
    void: str = ""
    """Why figures of this point do not count; empty where they do."""
