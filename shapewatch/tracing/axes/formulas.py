"""Formulas: what can be written with the names of dimensions, by fitting."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

from shapewatch.tracing.axes.sizes import (
    GivenDims,
    Sizes,
    plain_sizes,
    step,
    unseen_sizes,
)

Column = tuple[int, ...]  # the sizes of a name or an axis, one a run


def line(values: Column, sizes: Column) -> tuple[Fraction, Fraction]:
    """Fit sizes = factor * values + added, by the first two that differ."""
    for value, size in zip(values, sizes):
        if value != values[0]:
            factor = Fraction(size - sizes[0], value - values[0])
            return factor, sizes[0] - factor * values[0]
    return Fraction(0), Fraction(sizes[0])


def formula_text(text: str, factor: Fraction, added: Fraction) -> str:
    """Write factor * text + added as one writes it by hand."""
    if added.denominator > 1:
        whole = math.lcm(factor.denominator, added.denominator)
        return f"({formula_text(text, factor * whole, added * whole)})/{whole}"
    many = {1: "", -1: "-"}.get(factor.numerator, str(factor.numerator))
    over = "" if factor.denominator == 1 else f"/{factor.denominator}"
    if factor < 0 < added:
        return f"{added}{many}{text}{over}"
    return f"{many}{text}{over}" + (f"{int(added):+}" if added else "")


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


Term = tuple[str, list[int]]  # how it is written, and its size in each run
FactorMovers = dict[str, set[str]]  # and what moves each
ADDENDS = 0, 1, 2, 4  # such as a [CLS] before the patches of a picture


class Products:
    """What can be written as such a product.

    `columns` are the sizes of each name, in every run, and after them in
    runs that nobody made; the names that are `plain` are not written with
    others.
    """

    def __init__(
        self,
        columns: dict[str, Column],
        plain: Collection[str],
        runs: Sequence[Sizes],
    ):
        self.columns, self.plain = columns, plain
        self.moved = [{n for n in plain if r[n] != runs[0][n]} for r in runs]
        others = [n for n in columns if n not in plain]
        self.parts = {n: self.moving(columns[n]) for n in others}
        self.can_tell = all({name} in self.moved for name in plain)

    def moving(self, sizes: Column) -> set[str]:
        """Find the names that move some sizes when they move alone."""
        found = (x for x, size in zip(self.moved, sizes) if size != sizes[0])
        return {name for x in found if len(x) == 1 for name in x}

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run; "" if no product fits, or if several do."""
        heard = self.moving(sizes) if self.can_tell else set()
        for factors, more in product(self.groupings(heard), ADDENDS):
            found = self.products(factors, [n - more for n in sizes])
            if found:
                text = f"{found[0]}{more:+}" if more else found[0]
                return text if len(found) == 1 else ""
        return ""

    def groupings(self, heard: set[str]) -> Iterator[FactorMovers]:
        """Say whose product it may be: of the names that are heard; or with
        one that is written with others in their place."""
        alone = {name: {name} for name in self.plain if name in heard}
        yield alone
        for name, own in self.parts.items():
            if own and own <= heard:
                rest = {n: x for n, x in alone.items() if n not in own}
                yield {**rest, name: own}

    def products(self, factors: FactorMovers, sizes: list[int]) -> list[str]:
        """List the products that sizes may be."""
        choices = []
        for name, own in factors.items():
            runs = [i for i, x in enumerate(self.moved) if x <= own]
            choices.append(terms(name, self.columns[name], runs, sizes))
        texts = (product_text(some, sizes) for some in product(*choices))
        return [text for text in texts if text]


def terms(
    name: str, column: Column, runs: list[int], sizes: list[int]
) -> list[Term]:
    """List how sizes may follow a name in the runs where nothing else moves:
    as it is, or else rounded."""
    wanted, found = tuple(sizes[i] for i in runs), list[Term]()
    for text, values in roundings(name, column, step(column[: len(sizes)])):
        seen = tuple(values[i] for i in runs)
        factor, added = line(seen, wanted)
        fits = all(factor * n + added == m for n, m in zip(seen, wanted))
        if factor and fits:
            b, a = (added / factor).as_integer_ratio()
            written = formula_text(text, Fraction(a), Fraction(b))
            found.append((written, [a * n + b for n in values]))
            if text == name:
                break
    return found


def product_text(factors: tuple[Term, ...], sizes: list[int]) -> str:
    """Write sizes as a product of terms, times a number; "" if they are not,
    or would not be whole in runs that nobody made."""
    if not factors:
        return ""
    values = [Fraction(1)] * len(factors[0][1])
    for _, column in factors:
        values = [v * n for v, n in zip(values, column)]
    many = sizes[0] / values[0] if values[0] else Fraction(0)
    values = [many * value for value in values]
    right = values[: len(sizes)] == sizes
    if not right or any(value.denominator > 1 for value in values):
        return ""
    if len(factors) == many == 1:
        return factors[0][0]
    text = "*".join(in_parentheses(text) for text, _ in factors)
    return formula_text(text, many, Fraction(0))


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
