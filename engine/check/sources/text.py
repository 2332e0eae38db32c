"""Text that remembers where each of its characters stands in the file it came from."""

import bisect
from collections.abc import Iterable, Sequence

import msgspec

from engine.check.records import Argument, Place

NOWHERE = -1
MAX_CHARACTERS = 65_536
"""Longer values (a variable doubled over and over) count as unresolved."""


class Text(msgspec.Struct, frozen=True):
    """Characters with their offsets in the root source; `NOWHERE` for those that stand nowhere."""

    characters: str
    offsets: tuple[int, ...]
    splits: tuple[bool, ...]
    """Whether the shell would split the word at this character if it is white space."""
    unresolved: tuple[str, ...] = ()
    quoted: bool = False
    """An empty text that was quoted is still a word."""

    def __add__(self, other: "Text") -> "Text":
        return Text(
            self.characters + other.characters,
            self.offsets + other.offsets,
            self.splits + other.splits,
            tuple(dict.fromkeys((*self.unresolved, *other.unresolved))),
            self.quoted or other.quoted,
        )

    def part(self, start: int, end: int | None = None) -> "Text":
        """A slice; keeps the names of unresolved variables only where their text is in it."""
        characters = self.characters[start:end]
        named = tuple(name for name in self.unresolved if name in characters)
        return Text(characters, self.offsets[start:end], self.splits[start:end], named, self.quoted)

    def with_splits(self, splits: bool) -> "Text":
        """The same text, all of it splittable or none of it."""
        return msgspec.structs.replace(self, splits=(splits,) * len(self.characters), quoted=self.quoted or not splits)

    def fields(self) -> list["Text"]:
        """The words that the shell's field splitting leaves."""
        words: list[Text] = []
        start: int | None = None
        for index, character in enumerate(self.characters):
            if self.splits[index] and character in " \t\n":
                if start is not None:
                    words.append(self.part(start, index))
                start = None
            elif start is None:
                start = index
        if start is not None:
            words.append(self.part(start))
        return words or ([self] if self.quoted else [])


EMPTY = Text("", (), ())


def literal(characters: str, start: int, splits: bool = False, quoted: bool = False) -> Text:
    """Text that stands in the source as it is, from `start` on."""
    return Text(characters, tuple(range(start, start + len(characters))), (splits,) * len(characters), (), quoted)


def placed(characters: str, raw: str, start: int) -> Text:
    """Text that was written as `raw` from `start` on, with escapes or indentation between its characters."""
    offsets = []
    at = 0
    for character in characters:
        found = raw.find(character, at, at + 400)
        if found >= 0:
            at = found + 1
        offsets.append(start + max(at - 1, 0))
    return Text(characters, tuple(offsets), (False,) * len(characters), (), True)


def joined(parts: Iterable[Text]) -> Text:
    """Concatenation of many texts, in linear time."""
    listed = list(parts)
    return Text(
        "".join(part.characters for part in listed),
        tuple(offset for part in listed for offset in part.offsets),
        tuple(split for part in listed for split in part.splits),
        tuple(dict.fromkeys(name for part in listed for name in part.unresolved)),
        any(part.quoted for part in listed),
    )


class SourceText:
    """A root source: its name, its text, and the way from offsets to places."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._line_starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._line_starts.append(at + 1)
            at = text.find("\n", at + 1)

    def place(self, offsets: Sequence[int]) -> Place:
        """The place that these characters cover; its end only where it is one stretch of one line."""
        known = [offset for offset in offsets if offset >= 0]
        if not known:
            return Place(self.name)
        first, last = known[0], known[-1]
        line = bisect.bisect_right(self._line_starts, first) - 1
        column = first - self._line_starts[line] + 1
        same_line = first <= last < (self._line_starts[line + 1] if line + 1 < len(self._line_starts) else last + 1)
        return Place(self.name, line + 1, column, column + last - first + 1 if same_line else None)

    def argument(self, text: Text) -> Argument:
        """The word as a record."""
        known = [offset for offset in text.offsets if offset >= 0]
        raw = self.text[known[0] : known[-1] + 1] if known and known[-1] >= known[0] else None
        raw = raw if raw is not None and raw != text.characters and len(raw) < 4 * len(text.characters) + 40 else None
        return Argument(text.characters, self.place(text.offsets), raw, text.unresolved)
