"""Products of names to which a number is added, or that are rounded:
B*(X-2), B*⌈Y/2⌉*⌈X/2⌉. They show in runs that differ in one name alone."""

import re
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import product

from tformer_lite.tracing.axes.sizes import Sizes
from tformer_lite.tracing.axes.writing import Column, formula_text, line

Term = tuple[str, list[int]]  # how it is written, and its size in each run
DIVISORS = *range(2, 17), 20, 24, 32
ROUNDED = re.compile(r"⌈[^⌈⌉⌊⌋]*⌉|⌊[^⌈⌉⌊⌋]*⌋")


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
        self.columns, self.count = columns, len(runs)
        moved = [{n for n in plain if r[n] != runs[0][n]} for r in runs]
        self.moved, self.plain = moved, plain
        others = [n for n in columns if n not in plain]
        self.parts = {n: self.moving(columns[n]) for n in others}

    def moving(self, sizes: Column) -> set[str]:
        """Find the names that move some sizes when they move alone."""
        found = (x for x, size in zip(self.moved, sizes) if size != sizes[0])
        return {name for x in found if len(x) == 1 for name in x}

    def find(self, sizes: Column) -> str:
        """Write sizes, one a run; "" if no product fits, or if several do."""
        heard = self.moving(sizes)
        if not all({name} in self.moved for name in self.plain):
            return ""
        for factors in self.groupings(heard):
            terms = (self.terms(*factor, sizes) for factor in factors.items())
            products = (self.product(x, sizes) for x in product(*terms) if x)
            found = [text for text in products if text]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""

    def groupings(self, heard: set[str]) -> Iterator[dict[str, set[str]]]:
        """Say whose product it may be: of the names that are heard; or with
        one that is written with others in their place."""
        alone = {name: {name} for name in self.plain if name in heard}
        yield alone
        for name, own in self.parts.items():
            if own and own <= heard:
                rest = {n: x for n, x in alone.items() if n not in own}
                yield {**rest, name: own}

    def terms(self, name: str, own: set[str], sizes: Column) -> list[Term]:
        """List how sizes may follow a name where nothing else moves."""
        runs = [i for i, x in enumerate(self.moved) if x <= own]
        wanted = tuple(sizes[i] for i in runs)
        found = []
        for text, column in roundings(name, self.columns[name]):
            seen = tuple(column[i] for i in runs)
            factor, added = line(seen, wanted)
            made = [factor * n + added for n in seen]
            if factor and made == list(wanted):
                b, a = (added / factor).as_integer_ratio()
                written = formula_text(text, Fraction(a), Fraction(b))
                found.append((written, [a * n + b for n in column]))
                if text == name:
                    break
        return found

    def product(self, terms: tuple[Term, ...], sizes: Column) -> str:
        """Write sizes as a product of terms, times a number."""
        values = [Fraction(1)] * len(terms[0][1])
        for _, column in terms:
            values = [v * n for v, n in zip(values, column)]
        many = sizes[0] / values[0] if values[0] else Fraction(0)
        values = [many * value for value in values]
        right = values[: self.count] == list(sizes)
        if not right or any(value.denominator > 1 for value in values):
            return ""
        if len(terms) == many == 1:
            return terms[0][0]
        text = "*".join(map(enclosed, (text for text, _ in terms)))
        return formula_text(text, many, Fraction(0))


def roundings(name: str, column: Column) -> Iterator[tuple[str, Column]]:
    """Give a name as it is; and divided, rounded down or up."""
    yield name, column
    for divisor in DIVISORS:
        for more in range(divisor):
            text = f"⌊({name}+{more})/{divisor}⌋" if more else f"⌊{name}/{divisor}⌋"
            if more == divisor - 1:
                text = f"⌈{name}/{divisor}⌉"
            yield text, tuple((n + more) // divisor for n in column)


def enclosed(text: str) -> str:
    """Put a factor into parentheses where it needs them."""
    alone = text.isidentifier() or ROUNDED.fullmatch(text)
    return text if alone else f"({text})"
