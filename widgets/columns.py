"""Columns of a table, and which of them a screen of a given width has room for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from textual.content import Content

Record = TypeVar("Record")

GAP = 2
"""Blank cells between two columns."""


@dataclass(frozen=True)
class Column(Generic[Record]):
    """How one property of a record is shown."""

    title: str
    cell: Callable[[Record], "str | Content"]
    width: int
    """Cells it needs."""
    align: Literal["left", "right"] = "left"
    priority: int = 0
    """The highest goes first when the screen is narrow; equal ones go from the right. The last column never goes."""
    sort_key: Callable[[Record], Any] | None = None
    """What it is sorted by; `None` values come last in both directions. Without a key it cannot be sorted by."""
    grows: bool = False
    """Takes a share of the width that is left over."""
    if_any: bool = False
    """Left out while no row has anything in it."""


def fit(columns: Sequence[Column[Any]], width: int) -> list[tuple[int, int]]:
    """The columns that fit, as (index, cells), in their order; together with the gaps never wider than `width`."""
    kept = list(range(len(columns)))
    while len(kept) > 1 and _needed(columns, kept) > width:
        kept.remove(max(kept, key=lambda index: (columns[index].priority, index)))
    left = max(0, width - _needed(columns, kept))
    growing = [index for index in kept if columns[index].grows]
    sizes = {index: min(columns[index].width, max(width, 0)) for index in kept}
    for place, index in enumerate(growing):
        share = left // (len(growing) - place)
        sizes[index] += share
        left -= share
    return [(index, sizes[index]) for index in kept]


def _needed(columns: Sequence[Column[Any]], kept: list[int]) -> int:
    return sum(columns[index].width for index in kept) + GAP * (len(kept) - 1)
