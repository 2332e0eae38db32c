"""What the checker reads and what it says. Every reader fills these; every rule is a function of `Deployment`."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Severity = Literal["error", "warning", "info"]
Role = Literal["target", "draft"]


class Place(msgspec.Struct, frozen=True):
    """Where something stands: a file, a command line, a process, a URL."""

    source: str
    line: int | None = None
    column: int | None = None
    """Both count from 1."""
    end_column: int | None = None


class Argument(msgspec.Struct, frozen=True):
    """One word of a launch command, after the shell's quotes and variables are resolved."""

    text: str
    place: Place
    raw: str | None = None
    """As written, where that differs; empty for a word that the reader put in."""
    unresolved: tuple[str, ...] = ()
    """Shell variables in this word whose value is not known; `text` then holds them as written."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One start of one server, found in whatever form the operator has."""

    framework: Literal["sglang", "vllm"]
    arguments: tuple[Argument, ...]
    """What the server's own argument parser sees."""
    program: tuple[Argument, ...] = ()
    """Interpreter, module, subcommand: all before `arguments`."""
    environment: Mapping[str, str] = {}
    place: Place
    source_text: str = ""
    """The text it was found in, so that a flag can be highlighted in place."""
    unresolved: tuple[str, ...] = ()
    """Shell variables whose value is not known."""
    pid: int | None = None
    working_folder: str | None = None
    """Where the server starts, if that is known."""
    mounts: tuple[tuple[str, str], ...] = ()
    """Folders of a container: (path inside, path on the host)."""
    elsewhere: bool = False
    """Starts in a container or on another host: its paths need not exist here."""
    release_hint: str | None = None
    """SGLang release that an image tag, a pin or the interpreter names."""
    detached: tuple[Argument, ...] = ()
    """Flags that follow the command but do not belong to it: a line continuation is broken before them."""


class FlagValue(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as the server resolves it."""

    name: str
    """argparse destination, for example `speculative_num_steps`."""
    value: Any
    origin: Literal["command", "config", "default", "live"]
    spelled: str | None = None
    """The flag as the operator wrote it."""
    place: Place | None = None
    repeated: tuple[Any, ...] = ()
    """Earlier values that this one overrode."""
    unresolved: tuple[str, ...] = ()
    """Shell variables, or a word of the wrong type, that the value depends on; `value` is then not known."""


class UnresolvedValue(Exception):
    """A rule asked for a flag whose value depends on a shell variable that nobody set: the rule says nothing."""


class FlagProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What the server's own argument parser would refuse or drop."""

    kind: Literal[
        "unknown",
        "invalid",
        "missing_value",
        "ambiguous",
        "config_unread",
        "config_invalid",
        "config_elsewhere",
        "detached",
    ]
    spelled: str
    message: str
    nearest: str | None = None
    """The nearest flag of this release, for `unknown`."""
    values: tuple[str, ...] | None = None
    """The words that follow the flag, where all of them are known."""
    place: Place | None = None


class ServerArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The whole command line, parsed as one release's argparse would."""

    release: str
    """The SGLang release whose flag table was used."""
    release_known: bool
    """False where no source named the release and the newest table was taken."""
    flags: Mapping[str, FlagValue]
    """Every flag of the release by destination, defaults included."""
    problems: tuple[FlagProblem, ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """Value of a flag; `default` where this release does not know it; raises `UnresolvedValue`."""
        flag = self.flags.get(name)
        if flag is not None and flag.unresolved:
            raise UnresolvedValue(f"{flag.spelled or name} depends on {', '.join(flag.unresolved)}")
        return default if flag is None else flag.value

    def given(self, name: str) -> FlagValue | None:
        """The flag if the operator set it (command line or config file), else `None`."""
        flag = self.flags.get(name)
        return flag if flag is not None and flag.origin != "default" else None


class Tensor(msgspec.Struct, frozen=True):
    """A tensor as a safetensors header names it; its data stays on disk."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: str


class ModelProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Something about a model's files that could not be read, or is not there."""

    kind: Literal["not_found", "unreadable", "missing_file", "not_safetensors", "not_cached"]
    path: str
    message: str


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model as its files describe it. No weights are loaded."""

    role: Role
    reference: str
    """As the command names it: a folder or a repository id."""
    folder: str | None
    """Where it lies on disk; `None` where it is not on this machine."""
    config: Mapping[str, Any] | None = None
    generation_config: Mapping[str, Any] | None = None
    tokenizer_config: Mapping[str, Any] | None = None
    tokenizer_fingerprint: str | None = None
    """Hash over vocabulary, merges and added tokens; equal for tokenizers that cut text alike."""
    quantization_config: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None
    """What a training manifest beside the weights says (capture layers, target, norm placement)."""
    tensors: Mapping[str, Tensor] | None = None
    """`None` where no header could be read."""
    integers: Mapping[str, tuple[int, ...]] = {}
    """Values of small integer tensors such as `d2t`."""
    problems: tuple[ModelProblem, ...] = ()


class DecodeLine(msgspec.Struct, frozen=True):
    """What one `Decode batch` line of a log says."""

    accept_length: float
    accept_rate: float | None = None
    running: int | None = None
    """Requests in the batch."""


class LiveServer(msgspec.Struct, frozen=True, kw_only=True):
    """What a running server says of itself."""

    url: str
    server_info: Mapping[str, Any] | None = None
    model_info: Mapping[str, Any] | None = None
    metrics: str | None = None
    problem: str | None = None
    """What was tried and what came back, where the server cannot be used."""
    verifications: int | None = None
    """How many verifications the reported accept length rests on, where the source says so."""
    hidden_width: int | None = None
    """Measured width of returned hidden states."""
    decoded: tuple[DecodeLine, ...] = ()
    """Lines of its log, oldest first, where that is what was read."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark that a script runs, or a result that one left."""

    tool: str
    """`bench_serving`, `bench_one_batch_server`, `bench_speculative` or `bench_eagle3`."""
    place: Place
    options: Mapping[str, str | None] = {}
    """Flags by name with underscores; `None` for a switch."""
    result: Mapping[str, Any] = {}


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about one server, in one record: the only input of every rule."""

    launch: Launch | None
    arguments: ServerArguments | None
    target: Model | None = None
    draft: Model | None = None
    live: LiveServer | None = None
    break_even_accept_length: float | None = None
    """From the last benchmark of this target and draft."""
    benchmarks: tuple[Benchmark, ...] = ()
    """What the same script measures it with, and results given beside it."""
    training: Mapping[str, Any] | None = None
    """A training recipe to check: SpecForge's run.yaml, with what the files that it names say."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A fact that proves a finding."""

    what: str
    """A flag, a file and key, a tensor."""
    expected: str | None = None
    found: str | None = None
    place: Place | None = None


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """How to put it right. `set_flags` and `drop_flags` change the command; without them the text alone holds."""

    text: str
    set_flags: Mapping[str, str | None] = {}
    """Flag (as spelled on the command line) to value; `None` for a switch."""
    drop_flags: tuple[str, ...] = ()
    set_environment: Mapping[str, str] = {}
    drop_environment: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, doubtful, or worth knowing."""

    rule: str
    severity: Severity
    title: str
    """At most 70 characters."""
    message: str
    """What is so, and what will happen because of it."""
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    source: str = ""
    """Where the rule's fact comes from, with the SGLang release."""
