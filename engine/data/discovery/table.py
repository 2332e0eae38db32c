"""The curated table: JSON for programs, Markdown for people."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.data.catalogue.catalogue import catalogue
from state.outside_text import plain_line
from state.records.data import DataSet


class TableError(Exception):
    """A table cannot be read. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def read_table(path: Path | None) -> tuple[DataSet, ...]:
    """The sets of a curated table; those of the built-in catalogue where no file is given.

    Raises:
        TableError: The file cannot be read.
    """
    if path is None:
        return catalogue()
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[DataSet, ...])
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise TableError(f"cannot read {path}: {error}", "make one: alula data search") from error


def table_json(sets: Sequence[DataSet]) -> bytes:
    """The table for programs."""
    return msgspec.json.format(msgspec.json.encode(sets), indent=2) + b"\n"


def table_markdown(sets: Sequence[DataSet], title: str) -> str:
    """The table for people; names and texts of the hub are made harmless."""
    lines = [f"# {plain_line(title)}", ""]
    for heading, kept in (("Kept", True), ("Left out", False)):
        chosen = [one for one in sets if one.kept is kept]
        if not chosen:
            continue
        lines += [f"## {heading} ({len(chosen)})", "", f"| {' | '.join(_HEADINGS)} |", f"|{'---|' * len(_HEADINGS)}"]
        lines += [f"| {' | '.join(_cells(one))} |" for one in chosen]
        lines.append("")
    return "\n".join(lines)


_HEADINGS = ("Set", "Domain", "Rows", "Languages", "Format", "Licence", "Access", "Fit", "Why")
_ACCESS = {"terms": "accept its terms", "request": "ask its authors", "private": "private", "open": "open"}


def _cells(one: DataSet) -> list[str]:
    where = ":".join(part for part in (one.id, one.config, one.split) if part)
    cells = (
        where,
        one.domain,
        f"{one.rows:,}" if one.rows is not None else "–",
        ", ".join(one.languages) or "–",
        one.format or one.shape or "–",
        one.licence or "–",
        _ACCESS.get(one.access, "–"),
        f"{one.score:.2f}",
        " ".join(part for part in (one.why, one.remark) if part) or "–",
    )
    return [plain_line(cell, 300).replace("|", "\\|") for cell in cells]
