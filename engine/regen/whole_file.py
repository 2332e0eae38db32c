"""Files that appear only when they are complete and on disk."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self


class WholeFile:
    """Written beside its place under another name; `commit` puts it there. Leaving without that leaves nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self.stream = os.fdopen(os.open(self.part, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600), "w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.part.unlink(missing_ok=True)

    def commit(self) -> str:
        """Put it in place; returns its SHA-256."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        digest = sha256_of(self.part)
        self.part.replace(self.path)
        return digest


def write_whole(path: Path, parts: Iterable[bytes]) -> str:
    """Write a file whole or not at all; returns its SHA-256."""
    with WholeFile(path) as file:
        for content in parts:
            file.stream.write(content)
        return file.commit()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
