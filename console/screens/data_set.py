"""One data set of a curated table: every fact, and where it was read."""

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from console.actions import bindings
from console.screens.frame import FrameScreen
from state.outside_text import plain_line
from state.records.data import DataSet
from widgets import figures
from widgets.data.columns import ACCESS

NAME_CELLS = 14


class SetScreen(FrameScreen):
    """Lines wrap: a remark is read whole."""

    TITLE_TEXT = "Data set"
    BELONGS_TO = "Data"
    PLACES = ("details",)
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("details")]
    DEFAULT_CSS = "SetScreen { & VerticalScroll { padding: 0 1; } }"

    def __init__(self, one: DataSet) -> None:
        super().__init__()
        self._one = one

    def title_text(self) -> str:
        """Its id."""
        return plain_line(self._one.id, 120)

    def compose_body(self) -> ComposeResult:
        """The facts."""
        with VerticalScroll(can_focus=True):
            yield Static(Content("\n").join(lines_of(self._one)), markup=False)

    def on_mount(self) -> None:
        """The keys scroll it."""
        self.query_one(VerticalScroll).focus()


def lines_of(one: DataSet) -> list[Content]:
    """A line for each fact that is known, with its source behind it."""
    facts: list[tuple[str, str, str]] = [
        ("domain", one.domain, ""),
        ("config", one.config or "", "config"),
        ("split", one.split or "", "split"),
        ("rows", figures.count(one.rows), "rows"),
        ("size", figures.binary_bytes(one.bytes), "bytes"),
        ("languages", ", ".join(one.languages), "languages"),
        ("format", one.format or "", "format"),
        ("licence", one.licence or "", "licence"),
        ("access", _access(one), "access"),
        ("benchmark", "yes: to measure with, not to train on" if one.benchmark else "", ""),
        ("downloads", f"{figures.count(one.downloads)} in 30 days" if one.downloads is not None else "", "downloads"),
        ("changed", _day(one.modified_at), "modified_at"),
        ("shape", one.shape or "", "shape"),
        ("mapping", ", ".join(f"{role} = {column}" for role, column in one.mapping.items()), "mapping"),
        ("columns", ", ".join(f"{name} ({kind})" for name, kind in one.columns.items()), "columns"),
        ("fit", f"{one.score:.2f}  {one.why}", ""),
        ("verdict", "kept" if one.kept else "left out", ""),
        ("remark", one.remark, ""),
        ("found by", ", ".join(one.found_by), ""),
        ("copies", ", ".join(one.copies), ""),
    ]
    return [
        Content.assemble((f"{name:<{NAME_CELLS}}", "$text-muted"), plain_line(value, 2000), _source(one, key))
        for name, value, key in facts
        if value and value != figures.ABSENT
    ]


def _source(one: DataSet, key: str) -> tuple[str, str]:
    told = one.sources.get(key)
    return (f"   [{plain_line(told, 200)}]" if told else "", "$text-muted")


def _access(one: DataSet) -> str:
    words = ACCESS.get(one.access, "")
    if one.access in ("terms", "request"):
        return f"{words}: https://huggingface.co/datasets/{one.id}, then set HF_TOKEN"
    return words


def _day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at is not None else ""
