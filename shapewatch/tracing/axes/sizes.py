"""Dimensions: names and sizes, in the traced run and in other runs."""

import ast
import operator
import re
from collections.abc import Iterator
from math import gcd
from random import Random
from typing import TypeGuard

Sizes = dict[str, int]
Dims = dict[str, int | str]
Columns = dict[str, tuple[int, ...]]  # the sizes of each name, one a run
SMALL = ((4, 5), (2, 3)), ((6, 7), (10, 9))  # even and odd
UNSEEN_RUNS = 5  # how many runs that nobody makes a formula is tried at
LETTERS = re.compile(r"[^\W\d]\w*")
OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def run_sizes(dims: Dims) -> Sizes:
    """Work out the dimensions that are written with others.

    Raises ValueError for a name that is unknown, or that needs itself, for
    a negative size, and for what is neither a size nor an expression.
    """
    solved = plain_sizes(dims)
    for name, n in solved.items():
        if n < 0:
            raise ValueError(f"dims: {name} is {n}. A size is 0 or more.")
    while unsolved := {n: x for n, x in dims.items() if n not in solved}:
        sizes = {n: dim_size(n, x, solved) for n, x in unsolved.items()}
        solved |= {n: size for n, size in sizes.items() if size is not None}
        if not any(name in solved for name in unsolved):
            raise ValueError(
                f"dims {unsolved} use names that are unknown, or each other. "
                f"Known are {', '.join(solved) or 'none'}."
            )
    return {name: solved[name] for name in dims}


def is_size(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def plain_sizes(dims: Dims) -> Sizes:
    """Give the dimensions that are not written with others."""
    return {name: n for name, n in dims.items() if is_size(n)}


def dim_size(name: str, text: int | str, sizes: Sizes) -> int | None:
    """Work out a dimension; None if it is written with unknown names."""
    try:
        return evaluate(ast.parse(str(text), mode="eval").body, sizes)
    except KeyError:
        return None
    except (SyntaxError, ValueError):
        raise ValueError(
            f"dims: {name} is {text!r}. Give a size, or an expression with "
            'other names, as in "H*D": names and whole numbers, with + - * '
            "// and parentheses."
        ) from None


def evaluate(tree: ast.expr, sizes: Sizes) -> int:
    """Work out an expression; ValueError for what is not allowed in it."""
    match tree:
        case ast.Constant(n) if is_size(n):
            return n
        case ast.Name(name):
            return sizes[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -evaluate(operand, sizes)
        case ast.BinOp(left, sign, right) if type(sign) in OPERATIONS:
            operation = OPERATIONS[type(sign)]
            return operation(evaluate(left, sizes), evaluate(right, sizes))
    raise ValueError(ast.unparse(tree))


def joint_sizes(dims: Dims, varied: list[str]) -> list[Sizes]:
    """Choose the sizes of three probes in which all names move at once.

    In one all are even, in one all are odd. Each name is once larger than it
    was, the first three than 32; in which probe differs from name to name.
    So a size that is rounded up or cut off does not look like a line.
    """
    sizes = plain_sizes(dims)
    probes: list[Sizes] = [{}, {}, {}]
    for i, name in enumerate(varied):
        small = (pair for pair in SMALL[i // 3 % 2] if sizes[name] not in pair)
        even, odd = next(small)
        turn = (i + i // 3) % 3  # the probe in which it is large
        large = max(sizes[name], 16 if i > 2 else 32) + 1 + i
        large += turn < 2 and (large + turn) % 2
        rows = (large, odd, even), (even, large, odd), (even, odd, large)
        for probe, n in zip(probes, rows[turn]):
            probe[name] = n
    return [run_sizes({**dims, **probe}) for probe in probes]


def capped_sizes(
    dims: Dims, varied: list[str], sizes: Sizes
) -> Iterator[Sizes]:
    """Let names that are larger than they were be smaller than that: each
    of them alone, and then all."""
    plain = plain_sizes(dims)
    caps = {
        name: plain[name] - (2 if plain[name] % 2 == sizes[name] % 2 else 1)
        for name in varied
        if sizes[name] > plain[name] > 3
    }
    same = {name: sizes[name] for name in varied}
    for some in (*({name: cap} for name, cap in caps.items()), caps):
        yield run_sizes({**dims, **same, **some})


def larger_sizes(dims: Dims, varied: list[str]) -> list[Sizes]:
    """Choose three probes in which every name is larger than it was: such
    runs lack no round of a loop."""
    sizes = plain_sizes(dims)
    return [
        run_sizes(
            dims | {n: sizes[n] + more + i for i, n in enumerate(varied)}
        )
        for more in (1, 4, 6)
    ]


def sizes_of_one(dims: Dims, name: str, sizes: list[int]) -> Iterator[Sizes]:
    """Let one name have other sizes, and all others their own."""
    for n in dict.fromkeys(sizes):
        if n > 0 and n != dims[name]:
            yield run_sizes({**dims, name: n})


def close_sizes(dims: Dims, name: str) -> list[int]:
    """List sizes of a name that show how it is rounded: the next ones, and
    some far from each other."""
    size = plain_sizes(dims)[name]
    return [size + 1, size - 1, size + 6, 2 * size + 5, 4 * size, 75]


def accepted_sizes(dims: Dims, name: str) -> list[int]:
    """List sizes of a name that a model may accept, whatever it divides: the
    next ones, parts of it, and those that 2 divides as often."""
    size = plain_sizes(dims)[name]
    even = even_part(size)
    near = [size + 1, size - 1, size + even, size // 2]
    return [*near, size + 3 * even, size // 4, 2 * size]


def unseen_sizes(columns: Columns, dims: Dims) -> list[Sizes]:
    """Choose the sizes of runs that nobody makes.

    A name moves by steps that divide those that it has moved by. What is
    written with others stays even where a model has let it be nothing else.
    """
    random, unseen = Random(0), list[Sizes]()
    steps = {name: step(column) for name, column in columns.items()}
    plain = [name for name in columns if is_size(dims[name])]
    for _ in range(100 * UNSEEN_RUNS):
        chosen = {
            name: columns[name][0] + random.randrange(99, 9999) * steps[name]
            for name in plain
        }
        sizes = run_sizes({**dims, **chosen})
        even = (
            (sizes[n] - c[0]) % even_part(steps[n]) for n, c in columns.items()
        )
        if not any(even):
            unseen.append(sizes)
        if len(unseen) == UNSEEN_RUNS:
            break
    return unseen


def even_part(size: int) -> int:
    """The largest power of two that divides a size."""
    return size & -size


def step(column: tuple[int, ...]) -> int:
    """The largest step by which one gets from a size to all others."""
    return gcd(*(size - column[0] for size in column))
