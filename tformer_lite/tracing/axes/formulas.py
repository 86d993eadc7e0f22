"""Formulas: what can be written with the names of dimensions, by fitting."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from operator import contains

from tformer_lite.tracing.axes.sizes import Given, plain_sizes, unseen_runs

Column = tuple[int, ...]  # the sizes of a name or an axis, one a run
Columns = dict[str, Column]
Pairs = dict[str, tuple[int, int]]  # two runs for each name
Fit = tuple[str, Column]
UNSEEN = 5  # how many runs that nobody made


class Formulas:
    """What can be written with some names: a name, a product of up to four,
    a sum of two; and each of these times a number, plus a number.

    All that fit are compared in runs that nobody made. Where they part
    there, or give what is not whole, the runs were too few to tell. So
    they are where a name never moves alone, or where no run is left to check
    a formula with: one in which every name has a size that it did not have
    when it moved alone.
    """

    def __init__(self, varied: Columns, given: Given):
        alone = plain_sizes(given)
        columns = {name: c for name, c in varied.items() if name in alone}
        self.pairs = lone_pairs(columns)
        self.enough = can_check(columns, self.pairs)
        more = unseen_runs(list(columns), given, UNSEEN)
        longer = {n: c + tuple(r[n] for r in more) for n, c in varied.items()}
        self.columns = {name: longer[name] for name in columns}
        self.known: dict[Column, list[Fit]] = defaultdict(list)
        for text, values in candidates(longer):
            self.known[outline(values[:-UNSEEN])].append((text, values))

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run, as the simplest formula that fits; "" if
        none does, or if those that fit say different things."""
        if not self.enough:
            return ""
        fits = self.known.get(outline(sizes), [])
        return common_formula(fits, sizes) if fits else self.product(sizes)

    def product(self, sizes: Column) -> str:
        """Write sizes as a product of names with numbers added: B*(X-2).

        What is added to a name shows in two runs that differ in it alone.
        """
        factors, values = [], [Fraction(1)] * (len(sizes) + UNSEEN)
        for name, column in self.columns.items():
            i, j = self.pairs[name]
            factor, added = line((column[i], column[j]), (sizes[i], sizes[j]))
            if factor:
                b, a = (added / factor).as_integer_ratio()
                factors.append(formula_text(name, Fraction(a), Fraction(b)))
                values = [v * (a * n + b) for v, n in zip(values, column)]
        many = sizes[0] / values[0] if values[0] else Fraction(0)
        values = [many * value for value in values]
        if values[:-UNSEEN] != list(sizes) or not whole(values):
            return ""
        text = "*".join(f if f.isidentifier() else f"({f})" for f in factors)
        return formula_text(text, many, Fraction(0))


def whole(values: Iterable[Fraction]) -> bool:
    """Whether numbers can be sizes."""
    return all(value.denominator == 1 for value in values)


def common_formula(fits: list[Fit], sizes: Column) -> str:
    """Write sizes with the simplest of some formulas; "" where they part."""
    lines = [line(values, sizes) for _, values in fits]
    said = {
        tuple(factor * value + added for value in values[-UNSEEN:])
        for (_, values), (factor, added) in zip(fits, lines)
    }
    if len(said) > 1 or not all(map(whole, said)):
        return ""
    texts = [formula_text(text, *fit) for (text, _), fit in zip(fits, lines)]
    name = next(filter(str.isidentifier, texts), texts[0])
    return name[1:-1] if name == fits[0][0] and name[0] == "(" else name


def lone_pairs(columns: Columns) -> Pairs:
    """Find, for each name, two runs that differ in nothing else. The traced
    run, the first, comes last: it may be like any of the others."""
    found: Pairs = {}
    runs = list(zip(*columns.values()))
    for i, j in itertools.combinations([*range(1, len(runs)), 0], 2):
        moved = [name for name, c in columns.items() if c[i] != c[j]]
        if len(moved) == 1:
            found.setdefault(moved[0], (i, j))
    return found


def can_check(columns: Columns, pairs: Pairs) -> bool:
    """Whether every name has a pair, and a run is left to check a formula
    with: none of its sizes is one of a name's pair."""
    if pairs.keys() < columns.keys():
        return False
    used = [{c[i] for i in pairs[name]} for name, c in columns.items()]
    runs = zip(*columns.values())
    return any(not any(map(contains, used, run)) for run in runs)


def candidates(columns: Columns) -> Iterator[Fit]:
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
    return tuple(step // unit for step in steps)


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
