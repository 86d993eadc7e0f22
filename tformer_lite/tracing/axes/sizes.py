"""Dimensions: names and sizes, some of them written with others."""

import ast
import operator
from typing import TypeGuard

Sizes = dict[str, int]
Given = dict[str, int | str]
OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def run_sizes(dims: Given) -> Sizes:
    """Work out the dimensions that are written with others.

    Raises ValueError for a name that is unknown, or that needs itself, and
    for what is neither a size nor an expression.
    """
    known = plain_sizes(dims)
    while rest := {name: x for name, x in dims.items() if name not in known}:
        sizes = {name: size(name, text, known) for name, text in rest.items()}
        found = {name: n for name, n in sizes.items() if n is not None}
        if not found:
            raise ValueError(
                f"dims {rest} use names that are unknown, or each other. "
                f"Known are {', '.join(known) or 'none'}."
            )
        known |= found
    return {name: known[name] for name in dims}


def is_size(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def plain_sizes(dims: Given) -> Sizes:
    """Give the dimensions that are not written with others."""
    return {name: n for name, n in dims.items() if is_size(n)}


def size(name: str, text: int | str, known: Sizes) -> int | None:
    """Work out a dimension; None if it is written with unknown names."""
    try:
        return value(ast.parse(str(text), mode="eval").body, known)
    except KeyError:
        return None
    except (SyntaxError, ValueError):
        raise ValueError(
            f"dims: {name} is {text!r}. Give a size, or an expression with "
            'other names, as in "H*D": names and whole numbers, with + - * '
            "// and parentheses."
        ) from None


def value(tree: ast.expr, known: Sizes) -> int:
    """Work out an expression; ValueError for what is not allowed in it."""
    match tree:
        case ast.Constant(n) if is_size(n):
            return n
        case ast.Name(name):
            return known[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -value(operand, known)
        case ast.BinOp(left, sign, right) if type(sign) in OPERATIONS:
            operation = OPERATIONS[type(sign)]
            return operation(value(left, known), value(right, known))
    raise ValueError(ast.unparse(tree))


def evenness(size: int) -> int:
    """The power of two that a size can be divided by, at least 2."""
    return max(2, size & -size)
