"""tree-sitter's syntax tree of a shell script, with character offsets in the root source."""

import functools
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from engine.check.sources.text import Text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@functools.cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class ShellTree:
    """One script, or a script within a string of another one."""

    def __init__(self, characters: str, offsets: Sequence[int]) -> None:
        self._text = characters
        self._offsets = offsets
        encoded = self._text.encode("utf-8", "surrogatepass")
        self._characters: Sequence[int] | None = None
        if len(encoded) != len(self._text):
            self._characters = _character_indexes(self._text)
        self.root: Node = _parser().parse(encoded).root_node

    def index(self, byte: int) -> int:
        """Index of a character in the script by its byte offset."""
        return byte if self._characters is None else self._characters[byte]

    def source(self, node: "Node") -> str:
        """The node as written."""
        return self._text[self.index(node.start_byte) : self.index(node.end_byte)]

    def text(self, node: "Node") -> Text:
        """The node as written, with places; nothing in it splits."""
        start, end = self.index(node.start_byte), self.index(node.end_byte)
        return Text(self._text[start:end], tuple(self._offsets[start:end]), (False,) * (end - start))

    def between(self, start_byte: int, end_byte: int) -> Text:
        """What stands between two byte offsets."""
        start, end = self.index(start_byte), self.index(end_byte)
        return Text(self._text[start:end], tuple(self._offsets[start:end]), (False,) * (end - start))


def named(node: "Node") -> Iterator["Node"]:
    """The named children, comments left out."""
    return (child for child in node.named_children if child.type != "comment")


def _character_indexes(text: str) -> list[int]:
    widths = [len(character.encode("utf-8", "surrogatepass")) for character in text]
    indexes: list[int] = []
    for index, width in enumerate(widths):
        indexes.extend([index] * width)
    assert len(indexes) == list(accumulate(widths))[-1]
    return [*indexes, len(text)]
