"""JSON of what came from outside: names of files and words of processes need not be valid Unicode."""

import re
from typing import Any

import msgspec

SURROGATE = re.compile("[\ud800-\udfff]")


def encoded(value: Any) -> bytes:
    """Compact JSON; a byte that is no UTF-8 (Python keeps it as a surrogate) becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_valid(msgspec.to_builtins(value)))


def indented(value: Any) -> bytes:
    """Indented JSON with a line break at its end."""
    return msgspec.json.format(encoded(value), indent=2) + b"\n"


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    return [_valid(item) for item in value] if isinstance(value, list | tuple) else value
