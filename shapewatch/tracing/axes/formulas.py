"""Formulas: what can be written with the names of dimensions, by fitting."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from shapewatch.tracing.axes.products import Products
from shapewatch.tracing.axes.sizes import (
    GivenDims,
    Sizes,
    plain_sizes,
    unseen_sizes,
)
from shapewatch.tracing.axes.writing import Column, formula_text, line

Fit = tuple[str, Column]
SMALL_ADDENDS = 4  # what may be added to a formula that few runs show
SUM_TEXT = re.compile(r"\(\w+\+\w+\)")


class Formulas:
    """What can be written with some names: a name, a product of up to four,
    a sum of two; and each of these times a number, plus a number. Or a
    product of names to which numbers are added, or that are rounded.

    `runs` are the sizes of each run, the traced one first. All that fit are
    compared in runs that nobody made. Where they part there, or give what is
    not whole, the runs were too few to tell. So they are for a name of fewer
    than three sizes, where the names never move together, and, unless each
    has moved alone, for a large number that is added.
    """

    def __init__(self, runs: Sequence[Sizes], given: GivenDims):
        columns = {name: tuple(r[name] for r in runs) for name in runs[0]}
        moved = {n: c for n, c in columns.items() if len(set(c)) > 2}
        plain = {n: moved[n] for n in plain_sizes(given) if n in moved}
        moves = ([n != c[0] for n in c] for c in plain.values())
        self.enough = any(map(all, zip(*moves)))
        unseen = unseen_sizes(moved, given)
        longer = {n: c + tuple(r[n] for r in unseen) for n, c in moved.items()}
        self.products = Products(longer, plain, runs)
        self.known: dict[Column, list[Fit]] = defaultdict(list)
        for text, values in candidates(longer):
            self.known[outline(values[: len(runs)])].append((text, values))

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run, as the simplest formula that fits; "" if
        none does, or if those that fit say different things."""
        if not self.enough:
            return ""
        fits = [
            (text, values, *line(values, sizes))
            for text, values in self.known.get(outline(sizes), [])
        ]
        far = any(abs(added) > SMALL_ADDENDS for *_, added in fits)
        if far and not self.products.can_tell:
            return ""
        said = [
            (formula_text(text, factor, added), unseen)
            for text, values, factor, added in fits
            for unseen in [[factor * v + added for v in values[len(sizes) :]]]
            if all(value.denominator == 1 for value in unseen)
        ]
        return simplest(said) if said else self.products.find(sizes)


def simplest(fits: list[tuple[str, list[Fraction]]]) -> str:
    """Give the simplest of some formulas; "" where they say different things
    of runs that nobody made."""
    texts, said = zip(*fits)
    if any(values != said[0] for values in said):
        return ""
    text = next(filter(str.isidentifier, texts), texts[0])
    return text[1:-1] if SUM_TEXT.fullmatch(text) else text


def candidates(columns: dict[str, Column]) -> Iterator[Fit]:
    """Give names, products and sums of names with their sizes."""
    for n in (1, 2, 3, 4):
        for names in itertools.combinations_with_replacement(columns, n):
            rows = zip(*(columns[name] for name in names))
            yield "*".join(names), tuple(map(math.prod, rows))
    for one, other in itertools.combinations(columns, 2):
        rows = zip(columns[one], columns[other])
        yield f"({one}+{other})", tuple(map(sum, rows))


def outline(sizes: Column) -> Column:
    """Tell what stays the same when all sizes are multiplied by a number,
    and a number is added."""
    steps = [size - sizes[0] for size in sizes]
    first = next((step for step in steps if step), 1)
    unit = math.gcd(*steps) * (1 if first > 0 else -1) or 1
    return tuple([step // unit for step in steps])
