"""A job's run folder: how the engine and a runner speak to each other, in files that survive both.

`job.json` what to run; `claim.json` the runner that took it; `child.json` what it started; `exit.json` how that ended;
`reaped.json` its exit status, where that was known before all that it started had ended; `adopted.json` the runner that
looks after a child whose first runner died; `heartbeat` is touched by the runner; `log.txt` what the child printed.
"""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from state.process_identity import ProcessIdentity

Content = TypeVar("Content", bound=msgspec.Struct)
JOB_VARIABLE = "ALULA_JOB"
"""Environment variable that every process of a job inherits; its value is the run folder."""
JOB_ID_VARIABLE = "ALULA_JOB_ID"
"""Another one, for whoever wants to know the job's number."""


class JobFile(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and how to stop it."""

    job_id: int
    argv: tuple[str, ...]
    working_dir: str
    environment: dict[str, str]
    grace_s: float
    database_path: str
    """Where the end is recorded too, so that it can be seen while no engine lives."""
    secrets: tuple[str, ...] = ()
    """Names of environment variables that it gets besides; their values are never written here."""
    secrets_path: str = ""
    """The folder of those values."""


class ExitFile(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended. Code and signal are both `None` where nobody could know."""

    ended_at: float
    exit_code: int | None = None
    exit_signal: int | None = None
    stopped: bool = False
    """The runner was told to stop it."""
    problem: str | None = None
    """Why it could not be started."""

    @classmethod
    def from_code(cls, code: int, ended_at: float, stopped: bool = False) -> "ExitFile":
        """From a code as `subprocess` gives it: negative for a signal."""
        return cls(
            ended_at=ended_at,
            exit_code=code if code >= 0 else None,
            exit_signal=-code if code < 0 else None,
            stopped=stopped,
        )


class RunFolder:
    """Paths and contents of one run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job = path / "job.json"
        self.claim = path / "claim.json"
        self.adoption = path / "adopted.json"
        self.child = path / "child.json"
        self.exit = path / "exit.json"
        self.reaped = path / "reaped.json"
        self.heartbeat = path / "heartbeat"
        self.log = path / "log.txt"
        self.runner_log = path / "runner.log"

    def runner(self) -> ProcessIdentity | None:
        """The runner that looks after the job now, dead or alive."""
        return read(self.adoption, ProcessIdentity) or read(self.claim, ProcessIdentity)

    def started_at(self) -> float | None:
        """When the child was started, as far as that is recorded."""
        try:
            return self.child.stat().st_mtime
        except OSError:
            return None

    def silent_s(self, now: float) -> float | None:
        """Seconds since the runner's last heartbeat; `None` before the first."""
        try:
            return max(0.0, now - self.heartbeat.stat().st_mtime)
        except OSError:
            return None


def read(path: Path, kind: type[Content]) -> Content | None:
    """A file's content; `None` where it is not there or not whole."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None


def write(path: Path, content: msgspec.Struct) -> None:
    """Put a file there whole and synced to disk, in the place of an older one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    _write_synced(part, content)
    part.replace(path)
    _sync_folder(path.parent)


def write_once(path: Path, content: msgspec.Struct) -> bool:
    """Put a file there whole, unless there is one: `False` then. Of several writers exactly one wins."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    _write_synced(part, content)
    try:
        os.link(part, path)
    except FileExistsError:
        return False
    finally:
        part.unlink()
    _sync_folder(path.parent)
    return True


def _write_synced(path: Path, content: msgspec.Struct) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(content))
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
