"""Which rows of a table are shown, and in what order: the filter's grammar and sorting that knows absent values."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Record = TypeVar("Record")


def parse_filter(text: str) -> Callable[[str], bool]:
    """Turn what was typed into a test of a row's text.

    As in k9s: a regular expression that ignores case, `!` in front inverts it, `-f ` or `~` in front matches letters in
    order with others between. What is no valid expression (while it is being typed) is taken as it stands.
    """
    text = text.strip()
    if text.startswith("!"):
        inner = parse_filter(text[1:])
        return (lambda row: not inner(row)) if text[1:].strip() else (lambda _row: True)
    for mark in ("-f ", "~"):
        if text.startswith(mark):
            return _search(".*?".join(map(re.escape, text[len(mark) :].replace(" ", ""))))
    return _search(text)


def ordered(records: Sequence[Record], key: Callable[[Record], Any], *, reverse: bool) -> list[Record]:
    """Sort by a key. Records whose key is `None` come last in both directions; equal ones keep their order."""
    keyed = [(key(record), record) for record in records]
    present = [pair for pair in keyed if pair[0] is not None]
    present.sort(key=lambda pair: pair[0], reverse=reverse)
    return [record for _, record in present] + [record for value, record in keyed if value is None]


def _search(pattern: str) -> Callable[[str], bool]:
    try:
        search = re.compile(pattern, re.IGNORECASE).search
    except re.error:
        search = re.compile(re.escape(pattern), re.IGNORECASE).search
    return lambda row: search(row) is not None
