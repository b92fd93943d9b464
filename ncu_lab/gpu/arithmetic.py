"""Integer arithmetic of the registry's search spaces: ``BM % TM == 0``, ``4 * BK * (BM + BN)``. Pure; runs no code.

Names are sizes of a tile. Known are ``+ - * // / %`` (``/`` divides without remainder or fails), parentheses,
comparisons (chained ones too), ``and``, ``or``, ``not``.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping

_CALCULATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(expression: str, sizes: Mapping[str, int]) -> int:
    """Return the value of an expression; a condition gives 1 or 0.

    Args:
        expression: As registered.
        sizes: Name -> value.

    Raises:
        ValueError: When it is no such expression, names what is not known, divides by 0 or leaves a remainder.
    """
    try:
        return int(_value(_parsed(expression), sizes))
    except ZeroDivisionError as error:
        raise ValueError(f'"{expression}" divides by 0') from error


def names(expression: str) -> set[str]:
    """Return the sizes that an expression names.

    Raises:
        ValueError: When it is no arithmetic.
    """
    return {node.id for node in ast.walk(_parsed(expression)) if isinstance(node, ast.Name)}


@functools.cache
def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f'"{expression}" is no arithmetic: {error}') from error


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            if name not in sizes:
                raise ValueError(f"{name} is no size of the tile")
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _calculated(op, _value(left, sizes), _value(right, sizes))
        case ast.Compare(left=left, ops=ops, comparators=others):
            return int(_all_hold(left, ops, others, sizes))
        case ast.BoolOp(op=ast.And(), values=values):
            return int(all(_value(one, sizes) for one in values))
        case ast.BoolOp(op=ast.Or(), values=values):
            return int(any(_value(one, sizes) for one in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _value(operand, sizes))
    raise ValueError(f'"{ast.unparse(node)}" is no integer arithmetic')


def _calculated(op: ast.operator, left: int, right: int) -> int:
    if isinstance(op, ast.Div):
        if left % right:
            raise ValueError(f"{left} / {right} leaves a remainder")
        return left // right
    if type(op) not in _CALCULATIONS:
        raise ValueError(f"{type(op).__name__} is no operation known here")
    return _CALCULATIONS[type(op)](left, right)


def _all_hold(left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], sizes: Mapping[str, int]) -> bool:
    values = [_value(one, sizes) for one in (left, *others)]
    for op, low, high in zip(ops, values, values[1:], strict=False):
        if type(op) not in _COMPARISONS:
            raise ValueError(f"{type(op).__name__} is no comparison of numbers")
        if not _COMPARISONS[type(op)](low, high):
            return False
    return True
