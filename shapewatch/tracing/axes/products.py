"""Products of names to which a number is added, or that are rounded:
B*(X-2), B*⌈Y/2⌉*⌈X/2⌉. They show in runs that differ in one name alone."""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import product

from shapewatch.tracing.axes.rounding import in_parentheses, roundings
from shapewatch.tracing.axes.sizes import Sizes, step
from shapewatch.tracing.axes.writing import Column, formula_text, line

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
