"""From a row as it was read to a record: JSON, text encodings."""

import msgspec

from engine.data.records import BadRow, Raw, Row

LARGEST_ROW = 16 * 2**20
"""Bytes of one row. A larger one is no prompt."""


def decode(raw: Raw, encoding: str = "utf-8") -> Row | BadRow:
    """The record in a row, or why there is none."""
    if isinstance(raw, bytes):
        return _decode_line(raw, encoding)
    return raw


def _decode_line(line: bytes, encoding: str) -> Row | BadRow:
    try:
        text = line if is_read_as_utf8(encoding) else line.decode(encoding).encode()
        record = msgspec.json.decode(text.lstrip(b"\xef\xbb\xbf"))
    except UnicodeDecodeError as error:
        return BadRow("bad_encoding", f"not {encoding} at byte {error.start}: give the source's encoding")
    except msgspec.DecodeError as error:
        if _is_not_utf8(line):
            return BadRow("bad_encoding", f"not {encoding}: give the source's encoding")
        return BadRow("broken_json", f"not JSON: {error}")
    except RecursionError:
        return BadRow("broken_json", "nested too deeply")
    if not isinstance(record, dict):
        return BadRow("not_an_object", f"the row is {kind_of(record)}, not an object")
    return record


def is_read_as_utf8(encoding: str) -> bool:
    """Whether rows come as UTF-8: such files, and those in UTF-16, which readers recode."""
    return encoding.lower().replace("_", "-").startswith(("utf-8", "utf8", "utf-16"))


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def kind_of(value: object) -> str:
    """A JSON value's kind in words."""
    names = {"NoneType": "null", "dict": "an object", "list": "a list", "str": "text", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")
