"""On which line of a TOML file a key stands: `tomllib` tells that of syntax errors only."""

import re
from collections.abc import Iterator, Sequence

Key = tuple[str | int, ...]
_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]#]+?)\s*\]")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_WORD = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, path: Key, near: str = "") -> int | None:
    """The line of the longest known part of a path; below it, that of the first line which holds `near`."""
    known = dict(_keys(text))
    path = tuple(path)
    while path and path not in known:
        path = path[:-1]
    line = known.get(path)
    if line is None or not near:
        return line
    rest = text.splitlines()[line - 1 :]
    return next((line + offset for offset, found in enumerate(rest) if near in found), line)


def _keys(text: str) -> Iterator[tuple[Key, int]]:
    prefix: Key = ()
    counts: dict[Key, int] = {}
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            inside = _after(line, inside)
            continue
        if header := _HEADER.match(line):
            prefix = _names(header[2])
            if header[1] == "[[":
                counts[prefix] = counts.get(prefix, -1) + 1
                prefix = (*prefix, counts[prefix])
            yield prefix, number
        elif key := _KEY.match(line):
            whole = (*prefix, *_names(key[1]))
            yield whole, number
            value = line[key.end() :]
            for name in _inline_keys(value):
                yield (*whole, name), number
            inside = _opened(value)


def _names(text: str) -> tuple[str, ...]:
    return tuple(word.strip("\"'") for word in _WORD.findall(text))


def _inline_keys(value: str) -> Sequence[str]:
    return re.findall(r"[{,]\s*([\w-]+)\s*=", value) if value.lstrip().startswith("{") else ()


def _opened(value: str) -> str:
    """What a value that goes on over lines ends with: three quotes, or a bracket with its depth."""
    for quotes in ('"""', "'''"):
        if value.count(quotes) % 2:
            return quotes
    depth = _depth(value)
    return "]" * depth if depth > 0 else ""


def _after(line: str, inside: str) -> str:
    if inside[0] in "\"'":
        return "" if inside in line else inside
    return "]" * max(0, len(inside) + _depth(line))


def _depth(text: str) -> int:
    bare = re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*', "", text)
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")
