"""YAML as a tree of nodes with places. Aliases stay shared, and every walk over them is bounded."""

from collections.abc import Iterator
from typing import Any

import yaml

from engine.check.errors import SourceUnreadable
from engine.check.records import Place

MAX_NODES = 100_000
MAX_DEPTH = 60
MERGE_TAG = "tag:yaml.org,2002:merge"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Node = yaml.nodes.Node


def documents(text: str, source: str) -> list[Node]:
    """The root nodes of a YAML text; raises `SourceUnreadable` with line and column."""
    try:
        _count_values(text, source)
        found = [root for root in yaml.compose_all(text, Loader=LOADER) if root is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(source, mark.line + 1, mark.column + 1) if mark is not None else Place(source)
        what = getattr(error, "problem", None) or str(error)
        raise SourceUnreadable(f"not valid YAML: {what}", place) from None
    except RecursionError:
        raise SourceUnreadable("not valid YAML: nested too deep", Place(source)) from None
    for root in found:
        _refuse_excess(root, source)
    return found


def place_of(node: Node, source: str) -> Place:
    """Where a node stands; its end only where that is on the same line."""
    start, end = node.start_mark, node.end_mark
    end_column = end.column + 1 if end.line == start.line else None
    return Place(source, start.line + 1, start.column + 1, end_column)


def entries(node: Node | None) -> Iterator[tuple[str, Node, Node]]:
    """Key text, key node and value node of a mapping, merged ones (`<<`) behind its own; nothing for any other node."""
    if not isinstance(node, yaml.MappingNode):
        return
    merged: list[Node] = []
    own: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag == MERGE_TAG:
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
        elif isinstance(key, yaml.ScalarNode):
            own.add(key.value)
            yield key.value, key, value
    for one in merged:
        for name, key, value in entries(one):
            if name not in own:
                own.add(name)
                yield name, key, value


def is_mapping(node: Node) -> bool:
    """Whether a node is a mapping."""
    return isinstance(node, yaml.MappingNode)


def child(node: Node | None, *names: str) -> Node | None:
    """Follow keys down from a node; `None` where one is missing."""
    for name in names:
        node = next((value for key, _, value in entries(node) if key == name), None)
    return node


def items(node: Node | None) -> list[Node]:
    """The items of a sequence; empty for any other node."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def scalar(node: Node | None) -> str | None:
    """The text of a scalar as written; `None` for any other node and for null."""
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        return None
    return str(node.value)


def value_of(node: Node, source: str) -> Any:
    """The Python value that `yaml.safe_load` would give; raises `SourceUnreadable`."""
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, TypeError) as error:
        what = getattr(error, "problem", None) or str(error) or "nested too deep"
        raise SourceUnreadable(f"a value that cannot be read: {what}", place_of(node, source)) from None


def _count_values(text: str, source: str) -> None:
    """Refuse a text with too many values before a tree is made of it."""
    for count, event in enumerate(yaml.parse(text, Loader=LOADER)):
        if count > MAX_NODES:
            line = event.start_mark.line + 1 if event.start_mark is not None else None
            raise SourceUnreadable(f"YAML with more than {MAX_NODES} values", Place(source, line))


def _refuse_excess(root: Node, source: str) -> None:
    """Refuse nodes within themselves, too deep ones, and aliases that multiply."""
    count = 0
    stack: list[tuple[Node, int, frozenset[int]]] = [(root, 0, frozenset())]
    while stack:
        node, depth, above = stack.pop()
        count += 1
        if id(node) in above:
            raise SourceUnreadable("a YAML alias that contains itself", place_of(node, source))
        if depth > MAX_DEPTH:
            raise SourceUnreadable(f"YAML nested deeper than {MAX_DEPTH} levels", place_of(node, source))
        if count > MAX_NODES:
            raise SourceUnreadable(f"YAML with more than {MAX_NODES} values, aliases counted", place_of(node, source))
        inner = above | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            stack.extend((item, depth + 1, inner) for item in node.value)
        elif isinstance(node, yaml.MappingNode):
            stack.extend((part, depth + 1, inner) for pair in node.value for part in pair)
