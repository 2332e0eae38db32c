"""What the operators of `${NAME<operator>word}` make of a value: cut, replace, change case, take a part."""

import fnmatch
from collections.abc import Sequence

from engine.check.sources.text import NOWHERE, Text

LONGEST_VALUE = 4096
LONGEST_PATTERN = 256
MOST_DIGITS = 5


def operated(text: Text, sign: str, words: Sequence[str]) -> Text | None:
    """The value behind one operator; `None` for one that is not followed.

    `words` are what stands behind the operator, separators left out: pattern and replacement, or offset and length.
    """
    if len(text.characters) > LONGEST_VALUE or any(len(word) > LONGEST_PATTERN for word in words):
        return None
    first = words[0] if words else ""
    if sign in ("#", "##", "%", "%%"):
        return _stripped(text, sign, first)
    if sign in ("/", "//", "/#", "/%"):
        return _replaced(text, sign, first, words[1] if len(words) > 1 else "")
    if sign in ("^^", ",,", "^", ",") and not words:
        return _cased(text, sign)
    if sign == ":":
        return _part(text, words)
    return None


def _stripped(text: Text, sign: str, pattern: str) -> Text:
    """`${X#p}`, `${X##p}`, `${X%p}`, `${X%%p}`."""
    characters = text.characters
    lengths = range(len(characters) + 1)
    if sign in ("#", "##"):
        ends = [n for n in lengths if fnmatch.fnmatchcase(characters[:n], pattern)]
        return text.part((ends[-1] if sign == "##" else ends[0]) if ends else 0)
    starts = [n for n in lengths if fnmatch.fnmatchcase(characters[n:], pattern)]
    return text.part(0, (starts[0] if sign == "%%" else starts[-1]) if starts else len(characters))


def _replaced(text: Text, sign: str, pattern: str, replacement: str) -> Text | None:
    """`${X/p/r}` and its kin, for patterns without wildcards."""
    if not pattern or any(character in pattern for character in "*?[\\"):
        return None
    at = text.characters.find(pattern)
    if sign == "/#" and not text.characters.startswith(pattern):
        at = -1
    if sign == "/%":
        at = len(text.characters) - len(pattern) if text.characters.endswith(pattern) else -1
    if at < 0:
        return text
    rest = text.part(at + len(pattern))
    if sign == "//":
        rest = _replaced(rest, sign, pattern, replacement) or rest
    inserted = Text(replacement, (NOWHERE,) * len(replacement), (False,) * len(replacement))
    return text.part(0, at) + inserted + rest


def _cased(text: Text, sign: str) -> Text | None:
    first, rest = text.characters[:1], text.characters[1:]
    changed = str.upper if "^" in sign else str.lower
    characters = changed(first) + (changed(rest) if len(sign) == 2 else rest)
    if len(characters) != len(text.characters):
        return None
    return Text(characters, text.offsets, text.splits, text.unresolved, text.quoted)


def _part(text: Text, words: Sequence[str]) -> Text | None:
    """`${X:offset}`, `${X:offset:length}`."""
    if not words or any(not word.strip().isdecimal() or len(word.strip()) > MOST_DIGITS for word in words):
        return None
    start = int(words[0])
    return text.part(start, start + int(words[1]) if len(words) > 1 else None)
