"""The starting catalogue."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from state.records.data import DataSet


@cache
def catalogue() -> tuple[DataSet, ...]:
    """The ten sets, those that are of use as sources first."""
    text = (Path(__file__).parent / "catalogue.toml").read_text(encoding="utf-8")
    found = msgspec.convert(tomllib.loads(text)["set"], tuple[DataSet, ...])
    return tuple(sorted(found, key=lambda one: (not one.kept, -one.score, one.id)))
