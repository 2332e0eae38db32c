"""Pieces of Markdown pages: pure."""

from collections.abc import Sequence

from state.outside_text import plain_line


def section(title: str, lines: Sequence[str]) -> str:
    """A heading of the second level and what stands under it."""
    return "\n".join([f"## {title}", "", *lines, ""])


def table_cell(text: str) -> str:
    """A text of the project's own in one line that ends no table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def safe(text: str) -> str:
    """Text from outside in one line that can end neither a table cell nor a code span."""
    return plain_line(text, 400).replace("|", "/").replace("`", "'")
