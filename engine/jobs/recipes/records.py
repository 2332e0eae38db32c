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
    """How it is typed and checked; a `list` takes words as in a shell, a `port` is a free one where none is given."""
    help: str = ""
    """One line for the form and `alula jobs recipes NAME`."""
    default: int | float | bool | str | tuple[str, ...] | None = None
    """For a port: the first number that is tried where none is given."""
    required: bool = False
    """Whether a launch without a value is refused."""
    choices: tuple[str, ...] = ()
    """Of a `choice`, or of each item of a `list`."""
    minimum: float | None = None
    """Of a number."""
    maximum: float | None = None
    """Of a number."""
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
    """Seconds; a server that is not ready by then is stopped, and has failed."""


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure in the log."""

    name: str
    """Above its chart."""
    pattern: str
    """A regular expression with a group `value`, and a group `step` where a line has one."""
    unit: str = ""
    """Beside the figure."""


class Retry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which ends are tried again."""

    times: int = 0
    """How often at most; `--retries` goes before it."""
    wait_s: float = 30.0
    """Seconds before the first new try, doubled with each one, at most ten minutes."""
    exit_codes: tuple[int, ...] = ()
    """Empty, with no `log` either: any failure."""
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
    """The parameter."""
    matches: tuple[str, ...] = msgspec.field(default=(), name="is")
    """Values that it has to have one of; empty: it is true, or has any value."""
    argv: tuple[Any, ...] = ()
    """Words where it holds."""
    otherwise: tuple[Any, ...] = ()
    """Words where it does not."""


Item = str | tuple[Any, ...] | Flag
"""Of a template: a text with `{names}`, a group that is left out where a name has no value, or a condition."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of job."""

    name: str
    """What it is launched by: small letters, digits, `-`, `.`, `_`."""
    kind: Kind = "command"
    """What its jobs are for; the list of jobs groups by it."""
    help: str = ""
    """What it does, in a sentence or two."""
    release: str = ""
    """The tool and its release whose flags the template uses: `sglang 0.5.23`."""
    extends: str | None = None
    """Another recipe, of which this one only changes values."""
    values: dict[str, int | float | bool | str | tuple[str, ...]] = {}
    """For `extends`: parameters and their new defaults."""
    parameters: dict[str, Parameter] = {}
    """Fields of the form by name."""
    interpreter: Interpreter | None = None
    """Which Python runs it."""
    environment: dict[str, str] = {}
    """Templates; a variable is left out where a name has no value."""
    secrets: tuple[str, ...] = ()
    """Names of variables that it cannot do without."""
    optional_secrets: tuple[str, ...] = ()
    """Names of variables that it is given where there is a value."""
    resources: Resources = Resources()
    """What it needs of the host."""
    argv: tuple[Any, ...] = ()
    """The command, as a template."""
    working_dir: str | None = None
    """A template. Without one: the folder that it is launched from."""
    grace_s: float = 10.0
    """Seconds between SIGTERM and SIGKILL at a stop."""
    ready: Readiness | None = None
    """When a server can work."""
    progress: tuple[str, ...] = ()
    """Regular expressions with groups `done` and `total`. Bars of tqdm are found without."""
    metrics: tuple[Metric, ...] = ()
    """Figures that become charts. SGLang's, SpecForge's and tqdm's lines are found without."""
    retry: Retry = Retry()
    """Which ends are tried again."""
    restart: RestartPolicy = "never"
    """Of servers: `never`, `on-failure`, `always`."""
    check: ConfigCheck | None = None
    """What the checker looks at before the launch."""

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
