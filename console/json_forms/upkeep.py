"""Of the commands for the engine, the database and what comes with Alula."""

from typing import TypedDict

from console.demo.report import Report
from console.json_forms.common import Forms
from state.records.engine import Engine, EnginePart
from state.salvage import DatabaseCheck, TableCheck


class Started(TypedDict):
    """The engine that runs."""

    pid: int
    state_folder: str
    notice: str | None


class Stopped(TypedDict):
    """Whether an engine ran."""

    stopped: bool


class EngineStatus(TypedDict):
    """The engine and its parts."""

    running: bool
    silent: bool
    engine: Engine | None
    parts: list[EnginePart]
    state_folder: str
    notice: str | None


class Unit(TypedDict):
    """A systemd user unit, where it was written, and the commands that turn it on."""

    unit: str
    path: str | None
    next: list[str]


class Recording(TypedDict):
    """What was recorded."""

    file: str
    lines: int


class DatabasePath(TypedDict):
    """Where the database lies."""

    path: str
    notice: str | None


class Backup(TypedDict):
    """A copy of the database."""

    path: str
    bytes: int


class Recovered(TypedDict):
    """The new database; `kept` is the damaged one's place where it was put aside."""

    path: str
    kept: str | None
    tables: list[TableCheck]


class Pruned(TypedDict):
    """Rows dropped, and bytes given back to the disk."""

    commands: int
    alerts: int
    freed_bytes: int


class ReferencePaths(TypedDict):
    """Folders of the models that come with Alula."""

    target: str
    draft: str


FORMS: Forms = {
    "db backup": {"": Backup},
    "db check": {"": DatabaseCheck},
    "db path": {"": DatabasePath},
    "db prune": {"": Pruned},
    "db recover": {"": Recovered},
    "demo": {"": Report},
    "engine install": {"": Unit},
    "engine record": {"": Recording},
    "engine start": {"": Started},
    "engine status": {"": EngineStatus},
    "engine stop": {"": Stopped},
    "reference paths": {"": ReferencePaths},
}
