"""Dimensions: names and sizes, in the traced run and in other runs."""

import ast
import operator
from collections.abc import Iterator
from functools import partial
from random import Random
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

    Raises ValueError for a name that is unknown, or that needs itself, for
    a negative size, and for what is neither a size nor an expression.
    """
    known = plain_sizes(dims)
    for name, n in known.items():
        if n < 0:
            raise ValueError(f"dims: {name} is {n}. A size is 0 or more.")
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


def small_sizes(dims: Given, varied: list[str]) -> Iterator[Sizes]:
    """Choose the sizes of the probes: all small, then each name larger
    alone, then all larger still. A size keeps its parity, and the steps
    differ: S // 3 looks like a line at 2, 4 and 6, and not at 2, 4 and 8."""
    sizes = plain_sizes(dims)
    small = {name: 2 + sizes[name] % 2 for name in varied}
    larger = [{name: small[name] + 2} for name in varied]
    everything = {name: small[name] + 6 for name in varied}
    for change in ({}, *larger, everything):
        yield run_sizes({**dims, **small, **change})


def large_sizes(dims: Given, varied: list[str]) -> Iterator[Sizes]:
    """Choose larger sizes than the traced ones: each name alone, twice, then
    all; for a model that refuses small sizes, or loops over one.

    The power of two that a size can be divided by, it still can.
    """
    sizes = plain_sizes(dims)
    steps = {name: evenness(sizes[name]) for name in varied}
    alone = [
        {name: sizes[name] + many * steps[name]}
        for name in varied
        for many in (1, 3)
    ]
    everything = {name: sizes[name] + 2 * steps[name] for name in varied}
    for change in (*alone, everything):
        yield run_sizes({**dims, **change})


def unseen_runs(alone: list[str], dims: Given, many: int) -> list[Sizes]:
    """Choose the sizes of runs that nobody makes, as even as the traced ones
    in the names that vary alone."""
    odd = partial(Random(0).randrange, 101, 9999, 2)
    near = {name: plain_sizes(dims)[name] for name in alone}
    return [
        run_sizes(dims | {x: n + odd() * evenness(n) for x, n in near.items()})
        for _ in range(many)
    ]


def evenness(size: int) -> int:
    """The power of two that a size can be divided by, at least 2."""
    return max(2, size & -size)
