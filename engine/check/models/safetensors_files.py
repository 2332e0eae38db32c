"""Reads safetensors headers: names, types and shapes of all tensors, in milliseconds whatever their size.

The `safetensors` library maps the whole file and hides where a header goes wrong; the format is a length, a JSON
object and bytes (safetensors 0.6, README), so the header is read here.
"""

import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.check.models.json_files import Unreadable, read_json_object
from engine.check.records import Tensor

LARGEST_HEADER = 100 * 2**20
"""The limit of the safetensors library itself."""

LARGEST_INTEGERS = 16 * 2**20
LARGEST_INDEX = 128 * 2**20
MOST_SHARDS = 5000
BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
_INTEGERS = {"I64": "q", "I32": "i", "U8": "B", "BOOL": "?", "I8": "b", "I16": "h"}


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def read_header(path: Path) -> dict[str, Tensor]:
    """All tensors of one file.

    Raises:
        FileNotFoundError: There is no such file.
        Unreadable: The header is damaged, or names bytes that are not there.
    """
    try:
        with path.open("rb") as stream:
            entries, base = _entries(stream)
            size = os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    for name, entry in entries.items():
        _check(name, entry, size - base)
    return {name: Tensor(name, entry.dtype, tuple(entry.shape), path.name) for name, entry in entries.items()}


def read_integers(path: Path, name: str) -> tuple[int, ...] | None:
    """Values of a small integer tensor; `None` where it is none, or too large."""
    with path.open("rb") as stream:
        entries, base = _entries(stream)
        entry = entries.get(name)
        if entry is None or entry.dtype not in _INTEGERS:
            return None
        begin, end = entry.data_offsets
        if not 0 <= begin <= end or end - begin > LARGEST_INTEGERS:
            return None
        stream.seek(base + begin)
        content = stream.read(end - begin)
    code = _INTEGERS[entry.dtype]
    count = len(content) // struct.calcsize(code)
    return tuple(int(value) for value in struct.unpack(f"<{count}{code}", content[: count * struct.calcsize(code)]))


def read_index(path: Path) -> dict[str, str]:
    """Tensor name to shard file, from `model.safetensors.index.json`.

    Raises:
        FileNotFoundError: There is no such file.
        Unreadable: It is damaged, or names a file outside the folder.
    """
    weight_map: Any = read_json_object(path, LARGEST_INDEX).get("weight_map")
    if not isinstance(weight_map, dict):
        raise Unreadable("has no weight_map")
    shards = {str(shard) for shard in weight_map.values()}
    if len(shards) > MOST_SHARDS:
        raise Unreadable(f"names {len(shards):,} files")
    if outside := next((shard for shard in sorted(shards) if Path(shard).name != shard), None):
        raise Unreadable(f"names a file outside its folder: {outside[:100]}")
    return {str(name): str(shard) for name, shard in weight_map.items()}


def _entries(stream: BinaryIO) -> tuple[dict[str, _Entry], int]:
    head = stream.read(8)
    if len(head) < 8:
        raise Unreadable(f"has {len(head)} bytes, no safetensors header (truncated, or a Git LFS pointer?)")
    (length,) = struct.unpack("<Q", head)
    if head.startswith(b"version "):
        raise Unreadable("is a Git LFS pointer, not the weights: run git lfs pull")
    if length > LARGEST_HEADER:
        raise Unreadable(f"claims a header of {length:,} bytes; the format allows {LARGEST_HEADER:,}")
    content = stream.read(length)
    if len(content) < length:
        raise Unreadable(f"ends inside its header: {len(content):,} of {length:,} bytes are there")
    try:
        raw = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {name: msgspec.json.decode(value, type=_Entry) for name, value in raw.items()}, 8 + length
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"has a damaged header: {error}") from error


def _check(name: str, entry: _Entry, available: int) -> None:
    begin, end = entry.data_offsets
    elements = 1
    for size in entry.shape:
        if size < 0:
            raise Unreadable(f"tensor {name[:100]!r} has a negative size")
        elements *= size
    bits = BITS.get(entry.dtype)
    if not 0 <= begin <= end:
        raise Unreadable(f"tensor {name[:100]!r} has the offsets {begin} to {end}")
    if bits is not None and (elements * bits + 7) // 8 != end - begin:
        expected = (elements * bits + 7) // 8
        raise Unreadable(f"tensor {name[:100]!r} takes {end - begin:,} bytes where its shape needs {expected:,}")
    if end > available:
        raise Unreadable(f"is truncated: tensor {name[:100]!r} ends at byte {end:,} of {available:,}")
