"""Whole-number arithmetic of a shell: `$((1 + 2 * N))`."""

import ast
import operator
from collections.abc import Callable

OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: _quotient(left, right),
    ast.Mod: lambda left, right: left - right * _quotient(left, right),
}
LARGEST = 1 << 63


def whole_number(body: str, value_of: Callable[[str], int]) -> int | None:
    """The value of an expression; `None` where it is no arithmetic that is followed, or a variable is not known.

    Args:
        body: What stands between the brackets.
        value_of: The value of a variable; raises `ValueError`.
    """
    try:
        return _number(ast.parse(body.replace("$", " ").strip(), mode="eval").body, value_of)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _quotient(left: int, right: int) -> int:
    """Towards zero, as in C."""
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _number(node: ast.expr, value_of: Callable[[str], int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if abs(number) < LARGEST:
            return number
        case ast.Name(id=name):
            return value_of(name)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_number(left, value_of), _number(right, value_of))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, value_of)
        case _:
            raise ValueError("not whole-number arithmetic")
