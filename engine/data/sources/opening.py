"""Opens a local file through its compression, known by its first bytes and not by its name."""

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import IO, BinaryIO

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}
_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")

DAMAGED: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""What a damaged compressed file raises while it is read; zstandard's own error is found by `is_damage`."""


def open_binary(path: Path) -> IO[bytes]:
    """A stream of the file's content, decompressed.

    Raises:
        OSError: The file cannot be opened.
    """
    plain: BinaryIO = path.open("rb")
    head = plain.read(6)
    plain.seek(0)
    kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
    if kind == "gzip":
        return gzip.open(plain)  # type: ignore[return-value]  # a GzipFile reads like any binary stream
    if kind == "xz":
        return lzma.open(plain)
    if kind == "bzip2":
        return bz2.open(plain)
    if kind == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(plain, read_across_frames=True)
        return io.BufferedReader(reader)  # the reader itself has no lines
    return plain


def is_damage(error: Exception) -> bool:
    """Whether this error means that a compressed file is damaged."""
    return isinstance(error, DAMAGED) or type(error).__name__ == "ZstdError"


def plain_suffix(path: Path) -> str:
    """`.jsonl` of `data.jsonl.zst`."""
    name = path.name.lower()
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return Path(name).suffix
