"""A look at the beginning of training data: whose answers they are, and how many samples are longer than is kept."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.check.errors import SourceUnreadable
from engine.check.models.json_files import Unreadable, read_json_object
from state.outside_file import NotRegular, open_regular

LOOK_BYTES = 4 * 2**20
MOST_ROWS = 1000
FEWEST_ROWS = 10
"""A share of fewer samples says nothing."""
LONGEST_TOKEN = 8
"""Characters a token at most, on average over a sample: English prose has 4 to 5, code 3."""
PUBLISHED = re.compile(
    r"(ultrachat|sharegpt|eaglechat|perfectblend|magpie-qwen2\.5-pro-1m-v0\.1|opc|gsm8k|hendrycks_math|math_qa"
    r"|codealpaca-20k|opencodeinstruct|magicoder-evol-instruct|sciq|camel)(_train)?"
)
"""Names that SpecForge's scripts/prepare_data.py (a6b6b02) gives to data sets with other models' answers."""
FOREIGN_SPEAKERS = frozenset({"gpt", "chatgpt", "bing", "bard"})
"""Of ShareGPT's format; regenerated rows say `assistant`."""


def look_at_data(path: Path, max_length: int) -> dict[str, Any]:
    """`answers_model` and `share_longer_than_max_length`, as far as manifest, name and first rows tell."""
    rows = list(_rows(path))
    told: dict[str, Any] = {}
    model = _by_manifest(path) or _by_rows(rows) or _by_name(path, rows)
    if model is not None:
        told["answers_model"] = model
    if len(rows) >= FEWEST_ROWS:
        told["share_longer_than_max_length"] = sum(_tokens(row) > max_length for row in rows) / len(rows)
    return told


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The first rows of a JSON Lines file; a line that is none is another rule's matter."""
    try:
        with open_regular(path) as file:
            lines = file.read(LOOK_BYTES + 1).split(b"\n")
    except (NotRegular, OSError, ValueError, SourceUnreadable):
        return
    whole = lines if sum(map(len, lines)) + len(lines) - 1 <= LOOK_BYTES else lines[:-1]
    for line in whole[:MOST_ROWS]:
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _tokens(row: Mapping[str, Any]) -> float:
    """Tokens of a sample: exact where it is tokenised, else as few as its text can be."""
    ids = row.get("input_ids")
    if isinstance(ids, list):
        return len(ids)
    return sum(len(said) for _, said in _turns(row)) / LONGEST_TOKEN


def _turns(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    turns = row.get("conversations") or row.get("messages")
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, dict):
            speaker, said = turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))
            yield str(speaker), said if isinstance(said, str) else ""
    text = row.get("text")
    if isinstance(text, str):
        yield "", text


def _by_manifest(path: Path) -> str | None:
    """Of Alula's own export."""
    for beside in (path.with_name(f"{path.stem}.manifest.json"), path.with_name("manifest.json")):
        try:
            manifest = read_json_object(beside)
        except (Unreadable, FileNotFoundError):
            continue
        model = manifest.get("model")
        if isinstance(model, str) and manifest.get("file") in (None, path.name):
            return model
    return None


def _by_rows(rows: list[Mapping[str, Any]]) -> str | None:
    """The model that most rows name, or ShareGPT's name of the speaker."""
    named = Counter(row["model"] for row in rows if isinstance(row.get("model"), str))
    if named and named.total() * 2 > len(rows):
        return str(named.most_common(1)[0][0])
    speakers = Counter(speaker for row in rows for speaker, _ in _turns(row) if speaker in FOREIGN_SPEAKERS)
    return speakers.most_common(1)[0][0] if speakers else None


def _by_name(path: Path, rows: list[Mapping[str, Any]]) -> str | None:
    """A published data set as it is, unless its rows bear the mark of SpecForge's regeneration (`status`)."""
    regenerated = any(row.get("status") == "success" for row in rows)
    return f"{path.name} as published" if not regenerated and PUBLISHED.fullmatch(path.stem.lower()) else None
