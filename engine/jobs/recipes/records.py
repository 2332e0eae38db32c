"""What a recipe is. `docs/recipes.md` explains how to write one."""

from typing import Any, Literal

import msgspec

from state.records.jobs import RestartPolicy

Kind = Literal["serve", "train", "bench", "regen", "data", "command"]
ParameterType = Literal["int", "float", "bool", "string", "choice", "path", "list", "port"]
Value = int | float | bool | str | tuple[str, ...]


class Parameter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field of the launch form."""

    type: ParameterType = "string"
    help: str = ""
    default: int | float | bool | str | tuple[str, ...] | None = None
    """For a port: the first number that is tried where none is given."""
    required: bool = False
    choices: tuple[str, ...] = ()
    """Of a `choice`, or of each item of a `list`."""
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    """A regular expression that a text has to match as a whole."""
    exists: Literal["file", "folder", "any"] | None = None
    """What has to lie at a path before the launch."""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Python that runs the job; rarely the console's own. Templates name it `{python}`."""

    imports: str
    """A module that it must be able to import: `sglang`."""
    distribution: str | None = None
    """What the module's package is called where that differs: its version is shown."""

    @property
    def package(self) -> str:
        """The distribution's name."""
        return self.distribution or self.imports.partition(".")[0]


class Resources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it needs of the host."""

    gpus: int | tuple[str, ...] = 0
    """A count, or parameters whose product is the count."""
    memory: str | None = None
    """Of the host: `64GiB`."""
    disk: str | None = None
    """Free on the file system that it works on: `10GiB`."""


class Readiness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to see that a server can work."""

    url: str | None = None
    """A template; answers 200 once it is ready."""
    log: str | None = None
    """A regular expression that a line of the log matches."""
    within_s: float = 1800.0


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure in the log."""

    name: str
    pattern: str
    """A regular expression with a group `value`."""
    unit: str = ""


class Retry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which ends are tried again."""

    times: int = 0
    wait_s: float = 30.0
    exit_codes: tuple[int, ...] = ()
    log: tuple[str, ...] = ()
    """Regular expressions for the last lines of the log."""


class ConfigCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `alula check` looks at before the launch; its errors have to be overridden by name."""

    what: Literal["command", "training"]
    """The command itself, or a training recipe in a file."""
    file: str | None = None
    """For `training`: the parameter that names the file."""


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the template that stands only where a parameter is true, or has one of some values."""

    when: str
    matches: tuple[str, ...] = msgspec.field(default=(), name="is")
    argv: tuple[Any, ...] = ()
    otherwise: tuple[Any, ...] = ()


Item = str | tuple[Any, ...] | Flag
"""Of a template: a text with `{names}`, a group that is left out where a name has no value, or a condition."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of job."""

    name: str
    kind: Kind = "command"
    help: str = ""
    release: str = ""
    """The tool and its release whose flags the template uses: `sglang 0.5.23`."""
    extends: str | None = None
    """Another recipe, of which this one only changes values."""
    values: dict[str, int | float | bool | str | tuple[str, ...]] = {}
    """For `extends`: parameters and their new defaults."""
    parameters: dict[str, Parameter] = {}
    interpreter: Interpreter | None = None
    environment: dict[str, str] = {}
    """Templates; a variable is left out where a name has no value."""
    secrets: tuple[str, ...] = ()
    """Names of variables that it cannot do without."""
    optional_secrets: tuple[str, ...] = ()
    """Names of variables that it is given where there is a value."""
    resources: Resources = Resources()
    argv: tuple[Any, ...] = ()
    working_dir: str | None = None
    """A template."""
    grace_s: float = 10.0
    ready: Readiness | None = None
    progress: tuple[str, ...] = ()
    """Regular expressions with groups `done` and `total`."""
    metrics: tuple[Metric, ...] = ()
    retry: Retry = Retry()
    restart: RestartPolicy = "never"
    check: ConfigCheck | None = None

    source: str = ""
    """The file that it was read from."""
    template: tuple[Item, ...] = ()
    """`argv` after it was looked through."""

    @property
    def built_in(self) -> bool:
        """Whether it came with Alula."""
        return self.source.startswith("builtin/")


class RecipeMistake(Exception):
    """A recipe that cannot be used: which file, which line, why."""

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        super().__init__(f"{source}:{line}: {reason}" if line else f"{source}: {reason}")
        self.source = source
        self.line = line
        self.reason = reason
