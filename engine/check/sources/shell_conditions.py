"""Decides a shell test where its operands are known: `[ "$A" = 1 -a -n "$B" ]`, `[[ -n $B && $C == x* ]]`.

Of the syntax tree only the leaves are taken: tree-sitter-bash 0.25 reads `$A = 1 -o $B = 2` as `($A = (1 -o $B)) = 2`.
"""

import fnmatch
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.check.sources.shell_expansion import Expander
from engine.check.sources.shell_syntax import ShellTree, named

if TYPE_CHECKING:
    from tree_sitter import Node

NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
}
EQUALITY = ("=", "==", "!=")
OPEN = ("=~", "<", ">", "-nt", "-ot", "-ef")
"""Comparisons that are not followed."""
_EXPRESSIONS = ("unary_expression", "binary_expression", "parenthesized_expression")
_SIGNS = ("!", "(", ")", "&&", "||", "test_operator", *EQUALITY, *OPEN)


class _Item(NamedTuple):
    """A part of a test: a sign, or an operand."""

    spelled: str
    is_sign: bool = False
    known: bool = True
    is_pattern: bool = False


def decide(node: "Node", tree: ShellTree, expander: Expander) -> bool | None:
    """Whether the test holds; `None` where that depends on something unknown."""
    match node.type:
        case "test_command":
            return _Test([item for child in named(node) for item in _items(child, tree, expander)]).holds()
        case "negated_command":
            return _not(decide(next(named(node)), tree, expander))
        case "command":
            return _command(node, expander)
        case _:
            return None


class _Test:
    """The grammar of test(1) and `[[`: `or` binds weakest, then `and`, then `!`."""

    def __init__(self, items: list[_Item]) -> None:
        self._items = items
        self._place = 0

    def holds(self) -> bool | None:
        found = self._either()
        return found if self._place == len(self._items) else None

    def _either(self) -> bool | None:
        found = self._both()
        while self._takes("||", "-o"):
            found = _not(_both(_not(found), _not(self._both())))
        return found

    def _both(self) -> bool | None:
        found = self._one()
        while self._takes("&&", "-a"):
            found = _both(found, self._one())
        return found

    def _one(self) -> bool | None:
        if self._takes("!"):
            return _not(self._one())
        if self._takes("("):
            found = self._either()
            return found if self._takes(")") else None
        if (first := self._next()) is None:
            return None
        if first.is_sign:
            value = self._next()
            decided = value is not None and value.known and first.spelled in ("-z", "-n")
            return bool(value.spelled) == (first.spelled == "-n") if decided and value else None
        if sign := self._takes(*EQUALITY, *NUMERIC, *OPEN):
            second = self._next()
            return _compared(first, sign, second) if second is not None else None
        return bool(first.spelled) if first.known else None

    def _next(self) -> _Item | None:
        self._place += 1
        return self._items[self._place - 1] if self._place <= len(self._items) else None

    def _takes(self, *signs: str) -> str:
        item = self._items[self._place] if self._place < len(self._items) else None
        if item is None or not item.is_sign or item.spelled not in signs:
            return ""
        self._place += 1
        return item.spelled


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _both(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _compared(left: _Item, sign: str, right: _Item) -> bool | None:
    if not left.known or not right.known or sign in OPEN:
        return None
    if sign in EQUALITY:
        same = fnmatch.fnmatchcase(left.spelled, right.spelled) if right.is_pattern else left.spelled == right.spelled
        return same == (sign != "!=")
    try:
        return NUMERIC[sign](int(left.spelled), int(right.spelled))
    except ValueError:
        return None


def _items(node: "Node", tree: ShellTree, expander: Expander) -> Iterator[_Item]:
    if node.type in _EXPRESSIONS and node.children[0].type != "-":  # that one is a negative number
        for child in node.children:
            yield from _items(child, tree, expander)
    elif node.type in _SIGNS:
        yield _Item(tree.source(node), is_sign=True)
    elif node.type == "extglob_pattern":
        pattern = tree.source(node)
        yield _Item(pattern, known="$" not in pattern, is_pattern=True)
    else:
        value = expander.value(node)
        yield _Item(value.characters, known=not value.unresolved)


def _command(node: "Node", expander: Expander) -> bool | None:
    words = [word for child in named(node) for word in expander.words(child)]
    signs = {"!", "(", ")", "-a", "-o", "-z", "-n", *EQUALITY, *NUMERIC, *OPEN}
    items = [_Item(word.characters, word.characters in signs, not word.unresolved) for word in words]
    match items:
        case [_Item("true" | ":", known=True), *_]:
            return True
        case [_Item("false", known=True), *_]:
            return False
        case [_Item("test", known=True), *rest] if all(item.known for item in rest):
            return _Test(rest).holds()
        case _:
            return None
