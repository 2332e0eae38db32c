"""A server's log: the arguments it resolved, and the accept lengths it reported.

Formats: `server_args=ServerArgs(model_path='...', ...)` (0.4.6 to 0.5.2x), `server_args={'model_path': ...}` (0.5.23),
`Decode batch ... accept len: x.xx` (all; 0.5.23, srt/observability).
"""

import ast
import itertools
import re
from collections.abc import Mapping
from typing import Any

from engine.check.records import DecodeLine, LiveServer

STARTS = re.compile(r"server_args=(ServerArgs\(|\{)")
ACCEPT = re.compile(r"Decode batch\b[^\n]*?\baccept len: (\d+(?:\.\d+)?)(?:, accept rate: (\d+(?:\.\d+)?))?")
RUNNING = re.compile(r"#running-req: (\d+)")
CAPTION = re.compile(
    r"^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\n]*(?:Decode batch|server_args=|Load weight)", re.MULTILINE
)
OBJECT = re.compile(r"(?<=[=:,\[( ])<[^<>\n]*>")
"""The repr of an object that is no literal."""

DEFAULT_INTERVAL = 40
MAX_ARGUMENTS_TEXT = 200_000
MAX_STARTS = 64


def is_log(text: str) -> bool:
    """Whether a text looks like a server's log."""
    return STARTS.search(text) is not None or CAPTION.search(text) is not None


def read_log(text: str, name: str) -> list[LiveServer]:
    """One record for each server start in the log; what a start reported comes after it."""
    starts = list(itertools.islice(STARTS.finditer(text), MAX_STARTS))
    if not starts:
        reported = _reported({}, text)
        return [LiveServer(url=name, server_info=reported[0], verifications=reported[1], decoded=decoded_in(text))]
    found: list[LiveServer] = []
    for index, start in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
        values = _values(text, start)
        after = text[start.end() : end]
        information, verifications = _reported(values, after)
        if values and not any(live.server_info == information for live in found):
            live = LiveServer(url=name, server_info=information, verifications=verifications, decoded=decoded_in(after))
            found.append(live)
    return found


def decoded_in(text: str) -> tuple[DecodeLine, ...]:
    """What the decode lines of a log say, oldest first."""
    return tuple(
        DecodeLine(
            float(match[1]),
            float(match[2]) if match[2] else None,
            int(running[1][:9]) if (running := RUNNING.search(match[0])) else None,
        )
        for match in ACCEPT.finditer(text)
    )


def _reported(values: Mapping[str, Any], text: str) -> tuple[dict[str, Any], int | None]:
    lengths = [float(match[1]) for match in ACCEPT.finditer(text)]
    if not lengths:
        return dict(values), None
    interval = values.get("decode_log_interval", DEFAULT_INTERVAL)
    verifications = len(lengths) * (interval if isinstance(interval, int) else DEFAULT_INTERVAL)
    mean = sum(lengths) / len(lengths)
    return {**values, "internal_states": [{"avg_spec_accept_length": mean}]}, verifications


def _values(text: str, start: re.Match[str]) -> dict[str, Any]:
    """The arguments of one line; those whose value is no plain literal are left out."""
    body = text[start.start(1) : start.start(1) + MAX_ARGUMENTS_TEXT].partition("\n")[0]
    body = OBJECT.sub("unreadable", body)
    end = body.rfind("}" if start[1] == "{" else ")")
    try:
        tree = ast.parse(body[: end + 1], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if isinstance(tree, ast.Dict):
        pairs = [
            (key.value, value)
            for key, value in zip(tree.keys, tree.values, strict=True)
            if isinstance(key, ast.Constant)
        ]
    elif isinstance(tree, ast.Call):
        pairs = [(keyword.arg, keyword.value) for keyword in tree.keywords]
    else:
        return {}
    found: dict[str, Any] = {}
    for name, value in pairs:
        try:
            found[str(name)] = ast.literal_eval(value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            continue
    return found
