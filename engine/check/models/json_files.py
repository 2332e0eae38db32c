"""Reads a model's JSON files within bounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

LARGEST_CONFIG = 8 * 2**20
LARGEST_TOKENIZER = 128 * 2**20
MOST_KEYS = 100_000


class Unreadable(Exception):
    """A file cannot be used; the message says why and where."""


def read_json_object(path: Path, largest: int = LARGEST_CONFIG) -> dict[str, Any]:
    """A JSON file that holds an object.

    Raises:
        FileNotFoundError: There is no such file.
        Unreadable: It is too large, damaged, or holds something else.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(largest + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    if len(content) > largest:
        raise Unreadable(f"larger than {largest // 2**20} MiB")
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"not JSON: {error}{_line_of(content, str(error))}") from error
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    if not isinstance(found, dict):
        raise Unreadable(f"holds {type(found).__name__}, not an object")
    if len(found) > MOST_KEYS:
        raise Unreadable(f"has {len(found):,} keys")
    return found


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model's part of a config: nested under `text_config` (or a like name) in multimodal models."""
    for name in ("text_config", "language_config", "llm_config"):
        nested = config.get(name)
        if isinstance(nested, Mapping) and ("hidden_size" in nested or "num_hidden_layers" in nested):
            return nested
    return config


def _line_of(content: bytes, message: str) -> str:
    """The line of a byte position that msgspec names."""
    position = message.rpartition("byte ")[2].rstrip(")")
    newlines = content[: int(position)].count(b"\n") if position.isdigit() else None
    return "" if newlines is None else f", line {newlines + 1}"
