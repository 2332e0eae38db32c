"""Where the state lies: one private folder on a local disk."""

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from state.errors import StateError
from state.file_systems import file_system_type, is_network

LOCAL_FALLBACK = Path("/var/tmp")
"""Local on nearly every host, and it survives a reboot."""


class StateFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of one account's state, and the places in it."""

    path: Path
    notice: str | None = None
    """One line to show the operator, where the folder is not the one that was asked for."""

    @property
    def database_path(self) -> Path:
        """The SQLite file."""
        return self.path / "alula.sqlite"

    @property
    def runs_path(self) -> Path:
        """One folder for each job and regeneration."""
        return self.path / "runs"

    @property
    def backups_path(self) -> Path:
        """Copies of the database, made before a migration or by hand."""
        return self.path / "backups"

    @property
    def secrets_path(self) -> Path:
        """One file for each secret that jobs are given by name."""
        return self.path / "secrets"

    @property
    def engine_lock_path(self) -> Path:
        """Locked by the engine for as long as it lives."""
        return self.path / "engine.lock"

    @property
    def engine_bell_path(self) -> Path:
        """A pipe that wakes the engine."""
        return self.path / "engine.bell"

    @property
    def engine_log_path(self) -> Path:
        """What a detached engine prints."""
        return self.path / "engine.log"


def state_folder() -> StateFolder:
    """Find the folder (`ALULA_HOME`, else the XDG state folder) and make it private if it is missing.

    Raises:
        StateError: It cannot be made, belongs to somebody else, or is no folder.
    """
    wanted = _wanted()
    kind = file_system_type(wanted)
    if not is_network(kind):
        return StateFolder(path=make_private(wanted))
    local = make_private(_fallback(wanted))
    if is_network(file_system_type(local)):
        raise StateError(
            f"{wanted} and {local} are both on network file systems, where SQLite can lose data",
            "set ALULA_HOME to a folder on a local disk",
        )
    notice = f"{wanted} is on a network file system ({kind}), which is unsafe for SQLite: the state is kept in {local}"
    return StateFolder(path=local, notice=notice)


def shared_runs_path(folder: StateFolder, chosen: str | None) -> Path:
    """Where run folders lie that other hosts have to see: the chosen folder, else the account's own state folder where
    that is on a network file system (the state itself then lies elsewhere), else among all others.
    """
    if chosen:
        return Path(chosen).expanduser().absolute()
    wanted = _wanted()
    return wanted / "runs" if is_network(file_system_type(wanted)) else folder.runs_path


def make_private(path: Path) -> Path:
    """Make a folder that only its owner can enter, or check that it is one; group and other rights are taken away.

    Raises:
        StateError: It cannot be made, is no folder, is a symbolic link of another user, or belongs to another user.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
        link_owner = path.lstat().st_uid
    except FileExistsError:
        raise StateError(f"{path} is not a folder", "move it away, or set ALULA_HOME") from None
    except OSError as error:
        raise StateError(f"cannot make {path}: {error.strerror}", "set ALULA_HOME to a folder you can write") from error
    if os.geteuid() not in (found.st_uid, 0) or link_owner not in (os.geteuid(), 0):
        raise StateError(f"{path} belongs to another user", "set ALULA_HOME to a folder of your own")
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
    return path


def private_file(path: Path, flags: int) -> int:
    """Open a file of the state, made for its owner alone. A link that lies in its place is taken away, not followed.

    Raises:
        OSError: As `os.open`.
    """
    if path.is_symlink():
        path.unlink()
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _wanted() -> Path:
    if home := os.environ.get("ALULA_HOME"):
        return Path(home).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_state_dir("alula", appauthor=False))


def _fallback(wanted: Path) -> Path:
    name = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
    return make_private(LOCAL_FALLBACK / f"alula-{os.geteuid()}") / name
