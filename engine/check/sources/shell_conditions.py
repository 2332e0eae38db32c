"""Decides a shell test where its operands are known: `[ "$A" = 1 ]`, `[[ -n $B && $C == x* ]]`."""

import fnmatch
from collections.abc import Callable
from typing import TYPE_CHECKING

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


def decide(node: "Node", tree: ShellTree, expander: Expander) -> bool | None:
    """Whether the test holds; `None` where that depends on something unknown."""
    match node.type:
        case "test_command" | "parenthesized_expression":
            inside = list(named(node))
            return decide(inside[0], tree, expander) if len(inside) == 1 else None
        case "negated_command":
            return _not(decide(next(named(node)), tree, expander))
        case "unary_expression":
            return _unary(node, tree, expander)
        case "binary_expression":
            return _binary(node, tree, expander)
        case "command":
            return _command(node, tree, expander)
        case _:
            return None


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _unary(node: "Node", tree: ShellTree, expander: Expander) -> bool | None:
    sign = tree.source(node.children[0])
    operand = node.children[-1]
    if sign == "!":
        return _not(decide(operand, tree, expander))
    if sign not in ("-z", "-n"):
        return None
    value = expander.value(operand)
    if value.unresolved:
        return None
    return bool(value.characters) == (sign == "-n")


def _binary(node: "Node", tree: ShellTree, expander: Expander) -> bool | None:
    left, right = node.children[0], node.children[-1]
    sign = tree.source(node.children[1])
    if sign in ("&&", "-a", "||", "-o"):
        sides = {decide(left, tree, expander), decide(right, tree, expander)}
        decisive = sign in ("||", "-o")
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    first, second = expander.value(left), expander.value(right)
    if first.unresolved or second.unresolved:
        return None
    return compared(first.characters, sign, second.characters)


def compared(left: str, sign: str, right: str) -> bool | None:
    """One comparison of `test`; `None` for an operator that is not followed."""
    if sign in ("=", "==", "!="):
        return fnmatch.fnmatchcase(left, right) == (sign != "!=")
    if sign in NUMERIC:
        try:
            return NUMERIC[sign](int(left), int(right))
        except ValueError:
            return None
    return None


def _command(node: "Node", tree: ShellTree, expander: Expander) -> bool | None:
    words = [word for child in named(node) for word in expander.words(child)]
    if any(word.unresolved for word in words):
        return None
    spelled = [word.characters for word in words]
    match spelled:
        case ["true" | ":"]:
            return True
        case ["false"]:
            return False
        case ["test", ("-z" | "-n") as sign, value]:
            return bool(value) == (sign == "-n")
        case ["test", left, sign, right]:
            return compared(left, sign, right)
        case _:
            return None
