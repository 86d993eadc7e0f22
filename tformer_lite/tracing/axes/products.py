"""Products of names to which a number is added, or that are rounded:
B*(X-2), B*⌈Y/2⌉*⌈X/2⌉. They show in runs that differ in one name alone."""

import re
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import product

from tformer_lite.tracing.axes.sizes import Sizes, step
from tformer_lite.tracing.axes.writing import Column, formula_text, line

Term = tuple[str, list[int]]  # how it is written, and its size in each run
Rounding = tuple[str, Column]
ADDED = 0, 1, 2, 4  # such as a [CLS] before the patches of a picture
DIVISORS = *range(2, 17), 20, 24, 32
ROUNDED = re.compile(r"[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋](\*[⌈⌊][^⌈⌉⌊⌋]*[⌉⌋])?")


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
        self.known: dict[str, list[Rounding]] = {}

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
            for more in ADDED:
                rest = tuple(size - more for size in sizes)
                terms = (self.terms(*factor, rest) for factor in factors.items())
                products = (self.product(x, rest) for x in product(*terms) if x)
                found = [text for text in products if text]
                if found:
                    text = f"{found[0]}{more:+}" if more else found[0]
                    return text if len(found) == 1 else ""
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
        for text, column in self.roundings(name):
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

    def roundings(self, name: str) -> list[Rounding]:
        """List a name, and what it is rounded."""
        if name not in self.known:
            column = self.columns[name]
            even = step(column[: self.count])
            self.known[name] = list(roundings(name, column, even))
        return self.known[name]

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


def roundings(name: str, column: Column, even: int) -> Iterator[Rounding]:
    """Give a name as it is; and divided, rounded down or up; and squares of
    these. Where sizes move by steps `even`, some say the same: one of them."""
    yield name, column
    for divisor in DIVISORS:
        known = set()
        for more in (0, *range(divisor - 1, 0, -1)):
            period = range(column[0], column[0] + divisor * even, even)
            seen = tuple((n + more) // divisor for n in period)
            if (steps := tuple(n - seen[0] for n in seen)) not in known:
                known.add(steps)
                text = rounding_text(name, divisor, more)
                divided = tuple((n + more) // divisor for n in column)
                yield text, divided
                yield f"{text}*{text}", tuple(n * n for n in divided)


def rounding_text(name: str, divisor: int, more: int) -> str:
    """Write (name + more) / divisor, rounded down: up, if it is that."""
    if more == divisor - 1:
        return f"⌈{name}/{divisor}⌉"
    return f"⌊({name}+{more})/{divisor}⌋" if more else f"⌊{name}/{divisor}⌋"


def enclosed(text: str) -> str:
    """Put a factor into parentheses where it needs them."""
    alone = text.isidentifier() or ROUNDED.fullmatch(text)
    return text if alone else f"({text})"
