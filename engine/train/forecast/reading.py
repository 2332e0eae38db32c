"""Points from files and from words of a command line."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.train.forecast.records import CannotForecast, DataPoint
from state.outside_file import read_small_text

LARGEST_FILE = 4 * 1024 * 1024
NAMES = {"samples": ("samples", "tokens", "size"), "accept_length": ("accept_length", "accept_len", "tau")}


def parse_point(text: str) -> DataPoint:
    """`8800:2.1` or `8800:2.1:2.05:2.15` (95 % interval).

    Raises:
        CannotForecast: It is written otherwise.
    """
    parts = text.replace(",", "").replace("_", "").split(":")
    try:
        figures = [float(part) for part in parts]
    except ValueError:
        figures = []
    if len(figures) not in (2, 4):
        raise CannotForecast(
            f"{text!r} is no point", "write SAMPLES:ACCEPT_LENGTH or SAMPLES:ACCEPT_LENGTH:LOW:HIGH, as 8800:2.1"
        )
    low, high = (figures[2], figures[3]) if len(figures) == 4 else (None, None)
    return DataPoint(samples=figures[0], accept_length=figures[1], low=low, high=high)


def read_points(path: Path) -> list[DataPoint]:
    """Points of a CSV file with a header, or of JSONL; `samples`, `accept_length`, and `low`, `high`, `label` if known.

    Raises:
        CannotForecast: The file cannot be read, is empty, or a line holds no point.
    """
    try:
        text = read_small_text(path, LARGEST_FILE, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotForecast(f"cannot read {path}: {error}", "give a CSV or JSONL file of points") from error
    rows = (
        _jsonl(text, path) if text.lstrip().startswith("{") else list(enumerate(csv.DictReader(text.splitlines()), 2))
    )
    if not rows:
        raise CannotForecast(
            f"{path} holds no point", "name the columns samples,accept_length,low,high; a point a line"
        )
    return [_point(row, f"{path}, line {number}") for number, row in rows]


def _jsonl(text: str, path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    found: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((number, msgspec.json.decode(line, type=dict[str, Any])))
            except (msgspec.DecodeError, RecursionError) as error:
                raise CannotForecast(f"{path}, line {number}: {error}", "give one JSON object a line") from error
    return found


def _point(row: Mapping[str, Any], where: str) -> DataPoint:
    samples, length = (
        next((row[one] for one in names if row.get(one) not in (None, "")), None) for names in NAMES.values()
    )
    if samples is None or length is None:
        raise CannotForecast(
            f"{where}: no samples or no accept_length", "name the columns samples,accept_length,low,high"
        )
    try:
        return DataPoint(
            samples=float(samples),
            accept_length=float(length),
            low=_optional(row.get("low")),
            high=_optional(row.get("high")),
            label=str(row.get("label") or ""),
        )
    except (TypeError, ValueError) as error:
        raise CannotForecast(f"{where}: {error}", "give numbers") from error


def _optional(value: object) -> float | None:
    return None if value in (None, "") else float(str(value))
