"""Rounding: sizes that are divided by a number, and rounded down or up."""

import re
from collections.abc import Iterator
from functools import lru_cache

from shapewatch.tracing.axes.writing import Column

RoundedFit = tuple[str, Column]
DIVISORS = *range(2, 17), 20, 24, 32
ROUNDED_TEXT = re.compile(r"[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋](\*[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋])?")


@lru_cache(64)
def roundings(name: str, column: Column, even: int) -> list[RoundedFit]:
    """List a name as it is; and divided and rounded, with the square of that.

    Sizes move by steps `even`: of roundings that are the same then, one."""
    found = [(name, column)]
    for divisor in DIVISORS:
        for more in distinct_addends(divisor, column[0], even):
            text = rounding_text(name, divisor, more)
            sizes = tuple((n + more) // divisor for n in column)
            squares = tuple(n * n for n in sizes)
            found += [(text, sizes), (f"{text}*{text}", squares)]
    return found


def distinct_addends(divisor: int, first: int, even: int) -> Iterator[int]:
    """Give what can be added before a division, where it makes a difference
    for sizes that begin at `first` and move by steps `even`."""
    period, known = range(first, first + divisor * even, even), set()
    for more in (0, *range(divisor - 1, 0, -1)):
        sizes = [(n + more) // divisor for n in period]
        moves = tuple(n - sizes[0] for n in sizes)
        if moves not in known:
            known.add(moves)
            yield more


def rounding_text(name: str, divisor: int, more: int) -> str:
    """Write (name + more) / divisor, rounded down: up, if it is that."""
    if more == divisor - 1:
        return f"⌈{name}/{divisor}⌉"
    return f"⌊({name}+{more})/{divisor}⌋" if more else f"⌊{name}/{divisor}⌋"


def in_parentheses(text: str) -> str:
    """Put a factor into parentheses where it needs them."""
    alone = text.isidentifier() or ROUNDED_TEXT.fullmatch(text)
    return text if alone else f"({text})"
