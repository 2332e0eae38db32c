"""Secrets by name: a value lies in a file that only its owner can read, or in the engine's environment."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from state.errors import StateError
from state.folder import make_private

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
SIZE_LIMIT = 64 << 10


def write_secret(folder: Path, name: str, value: str) -> None:
    """Keep a value, in the place of an older one.

    Raises:
        StateError: The name or the value cannot be an environment variable, or the file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise StateError(f"{name!r} cannot be the name of an environment variable", "use letters, digits and _")
    if not value or "\0" in value or len(value) > SIZE_LIMIT:
        raise StateError(f"the value of {name} is empty, too long or holds a zero byte", "give it on standard input")
    path, part = make_private(folder) / name, folder / f".{name}.{os.getpid()}.part"
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(value)
        part.replace(path)
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror}", "see its folder's owner and space") from error


def remove_secret(folder: Path, name: str) -> bool:
    """Forget a value; `False` where there is none."""
    if not _NAME.fullmatch(name):
        return False
    try:
        (folder / name).unlink()
    except FileNotFoundError:
        return False
    return True


def secret_names(folder: Path) -> list[str]:
    """Names of the values that are kept in files."""
    try:
        return sorted(path.name for path in folder.iterdir() if _NAME.fullmatch(path.name))
    except OSError:
        return []


def missing_secrets(folder: Path, names: Iterable[str]) -> list[str]:
    """Which of these have no value, neither in a file nor in this process's environment."""
    kept = set(secret_names(folder))
    return [name for name in names if name not in kept and not os.environ.get(name)]


def read_secrets(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Values by name; a file's goes before the environment's.

    Raises:
        LookupError: One has no value.
        OSError: A file cannot be read.
    """
    values = {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise LookupError(f"{name!r} cannot be the name of a secret")
        try:
            values[name] = (folder / name).read_text()
        except FileNotFoundError:
            if not os.environ.get(name):
                raise LookupError(f"there is no secret {name}: alula jobs secret set {name}") from None
            values[name] = os.environ[name]
    return values
