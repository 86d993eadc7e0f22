"""Formulas: what can be written with the names of dimensions, by fitting."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from shapewatch.tracing.axes.sizes import (
    Dims,
    Sizes,
    plain_sizes,
    step,
    unseen_sizes,
)

Column = tuple[int, ...]  # the sizes of a name or an axis, one a run
Fit = tuple[str, Column]  # how it is written, and its size in each run
Term = tuple[str, list[int]]  # the same, of a part of a product
FactorMovers = dict[str, set[str]]  # the parts, and which names move each
DIVISORS = *range(2, 17), 20, 24, 32
ADDENDS = 0, 1, 2, 4  # such as a [CLS] before the patches of a picture
SMALL_ADDENDS = 4  # what may be added to a formula that few runs show
SUM_TEXT = re.compile(r"\(\w+\+\w+\)")
ROUNDED_TEXT = re.compile(r"[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋](\*[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋])?|[^\W\d]\w*")


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

    def __init__(self, runs: Sequence[Sizes], dims: Dims):
        columns = {name: tuple(r[name] for r in runs) for name in runs[0]}
        moved = {n: c for n, c in columns.items() if len(set(c)) > 2}
        plain = {n: moved[n] for n in plain_sizes(dims) if n in moved}
        moves = ([n != c[0] for n in c] for c in plain.values())
        self.enough = any(map(all, zip(*moves)))
        unseen = unseen_sizes(moved, dims)
        longer = {n: c + tuple(r[n] for r in unseen) for n, c in moved.items()}
        self.products = Products(longer, plain, runs)
        self.fits: dict[Column, list[Fit]] = defaultdict(list)
        for text, values in candidates(longer):
            self.fits[outline(values[: len(runs)])].append((text, values))

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run, as the simplest formula that fits; "" if
        none does, or if those that fit say different things."""
        if not self.enough:
            return ""
        fits = [
            (text, values, *line(values, sizes))
            for text, values in self.fits.get(outline(sizes), [])
        ]
        far = any(abs(added) > SMALL_ADDENDS for *_, added in fits)
        if far and not self.products.can_tell:
            return ""
        formulas: dict[str, list[Fraction]] = {}
        for text, values, factor, added in fits:
            unseen = [factor * v + added for v in values[len(sizes) :]]
            if all(value.denominator == 1 for value in unseen):
                formulas[formula_text(text, factor, added)] = unseen
        if not formulas:
            return self.products.find(sizes)
        if len(set(map(tuple, formulas.values()))) > 1:
            return ""
        text = next(filter(str.isidentifier, formulas), next(iter(formulas)))
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


def outline(sizes: Sequence[int]) -> Column:
    """Tell what stays the same when all sizes are multiplied by a number,
    and a number is added."""
    steps = [size - sizes[0] for size in sizes]
    first = next((step for step in steps if step), 1)
    unit = math.gcd(*steps) * (1 if first > 0 else -1) or 1
    return tuple([step // unit for step in steps])


def line(
    values: Sequence[int], sizes: Sequence[int]
) -> tuple[Fraction, Fraction]:
    """Fit sizes = factor * values + added, by the first two that differ."""
    for value, size in zip(values, sizes):
        if value != values[0]:
            factor = Fraction(size - sizes[0], value - values[0])
            return factor, sizes[0] - factor * values[0]
    return Fraction(0), Fraction(sizes[0])


def formula_text(text: str, factor: Fraction, added: Fraction) -> str:
    """Write factor * text + added as one writes it by hand."""
    if added.denominator > 1:
        over = math.lcm(factor.denominator, added.denominator)
        return f"({formula_text(text, factor * over, added * over)})/{over}"
    many = {1: "", -1: "-"}.get(factor.numerator, str(factor.numerator))
    part = "" if factor.denominator == 1 else f"/{factor.denominator}"
    if factor < 0 < added:
        return f"{added}{many}{text}{part}"
    return f"{many}{text}{part}" + (f"{int(added):+}" if added else "")


class Products:
    """Products of names to which a number is added, or that are rounded:
    B*(X-2), B*⌈Y/2⌉*⌈X/2⌉. They show in runs that differ in one name alone.

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
        moves = (x for x, size in zip(self.moved, sizes) if size != sizes[0])
        return {name for x in moves if len(x) == 1 for name in x}

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run; "" if no product fits, or if several do.

        It may be a product of the names that move them, or with one that is
        written with others in their place.
        """
        movers = self.moving(sizes) if self.can_tell else set()
        alone = {name: {name} for name in self.plain if name in movers}
        ways: list[FactorMovers] = [alone]
        for name, parts in self.parts.items():
            if parts and parts <= movers:
                rest = {n: x for n, x in alone.items() if n not in parts}
                ways.append({**rest, name: parts})
        for factors, more in itertools.product(ways, ADDENDS):
            texts = self.products(factors, [n - more for n in sizes])
            if texts:
                text = f"{texts[0]}{more:+}" if more else texts[0]
                return text if len(texts) == 1 else ""
        return ""

    def products(self, factors: FactorMovers, sizes: list[int]) -> list[str]:
        """List the products that sizes may be."""
        choices = []
        for name, movers in factors.items():
            runs = [i for i, x in enumerate(self.moved) if x <= movers]
            choices.append(terms(name, self.columns[name], runs, sizes))
        some = itertools.product(*choices)
        return [x for x in (product_text(terms, sizes) for terms in some) if x]


def terms(
    name: str, column: Column, runs: list[int], sizes: list[int]
) -> list[Term]:
    """List how sizes may follow a name in the runs where nothing else moves:
    as it is, or else rounded."""
    wanted, fits = [sizes[i] for i in runs], list[Term]()
    even = step(column[: len(sizes)])
    rounded = roundings(name, column, tuple(runs), even)
    for text, values in rounded.get(outline(wanted), []):
        factor, added = line([values[i] for i in runs], wanted)
        if factor:
            b, a = (added / factor).as_integer_ratio()
            written = formula_text(text, Fraction(a), Fraction(b))
            fits.append((written, [a * n + b for n in values]))
            if text == name:
                break
    return fits


def product_text(factors: tuple[Term, ...], sizes: list[int]) -> str:
    """Write sizes as a product of terms, times a number; "" if they are not,
    or would not be whole in runs that nobody made."""
    if not factors:
        return ""
    values = [Fraction(math.prod(x)) for x in zip(*(c for _, c in factors))]
    many = sizes[0] / values[0] if values[0] else Fraction(0)
    values = [many * value for value in values]
    right = values[: len(sizes)] == sizes
    if not right or any(value.denominator > 1 for value in values):
        return ""
    texts = [text for text, _ in factors]
    if len(texts) == many == 1:
        return texts[0]
    enclosed = (x if ROUNDED_TEXT.fullmatch(x) else f"({x})" for x in texts)
    return formula_text("*".join(enclosed), many, Fraction(0))


@lru_cache(64)
def roundings(
    name: str, column: Column, runs: Column, even: int
) -> dict[Column, list[Fit]]:
    """List a name as it is; and divided and rounded, with the square of that:
    by the outline of their sizes in some `runs`.

    Sizes move by steps `even`: of roundings that are the same then, one."""
    by_outline = defaultdict(list)

    def add(text: str, sizes: Column) -> None:
        by_outline[outline([sizes[i] for i in runs])].append((text, sizes))

    add(name, column)
    for divisor in DIVISORS:
        for more in distinct_addends(divisor, column[0], even):
            text = f"⌊({name}+{more})/{divisor}⌋"
            if more in (0, divisor - 1):  # down, or up
                text = f"⌈{name}/{divisor}⌉" if more else f"⌊{name}/{divisor}⌋"
            sizes = tuple((n + more) // divisor for n in column)
            add(text, sizes)
            add(f"{text}*{text}", tuple(n * n for n in sizes))
    return by_outline


def distinct_addends(divisor: int, first: int, even: int) -> Iterator[int]:
    """Give what can be added before a division, where it makes a difference
    for sizes that begin at `first` and move by steps `even`."""
    period, patterns = range(first, first + divisor * even, even), set()
    for more in (0, *range(divisor - 1, 0, -1)):
        sizes = [(n + more) // divisor for n in period]
        moves = tuple(n - sizes[0] for n in sizes)
        if moves not in patterns:
            patterns.add(moves)
            yield more
