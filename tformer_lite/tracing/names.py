"""Axis names: sizes of several runs, written with the names of dimensions."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

Sizes = tuple[int, ...]


class Axis(NamedTuple):
    """One axis: its size, its name, and how the name is known.

    `proof` is "proved" (it held in every run, at other sizes), "value" (a
    dimension has this size, and no other has) or "unknown".
    """

    size: int
    name: str
    proof: str

    def __str__(self) -> str:
        """Write a proved name as it is, others with ~ or a ?."""
        return (
            self.name
            + {"proved": "", "value": "~", "unknown": "?"}[self.proof]
        )


class Dims:
    """The dimensions of some runs: a name, and its size in each run.

    `runs` are the sizes of every run, the traced one first.
    """

    def __init__(self, runs: list[dict[str, int]]):
        columns = {name: tuple(r[name] for r in runs) for name in runs[0]}
        self.varied = tuple(
            (name, sizes)
            for name, sizes in columns.items()
            if len(set(sizes)) > 1
        )
        self.fixed = [
            (name, sizes[0])
            for name, sizes in columns.items()
            if len(set(sizes)) == 1
        ]

    def axis(self, sizes: Sizes) -> Axis:
        """Name the axis that has these sizes, one a run."""
        if len(set(sizes)) > 1:
            name = formula(sizes, self.varied)
            proof = "proved" if name else "unknown"
            return Axis(sizes[0], name or str(sizes[0]), proof)
        alike = [name for name, size in self.fixed if size == sizes[0]]
        if not alike or sizes[0] == 1:
            return Axis(sizes[0], str(sizes[0]), "proved")
        if len(alike) == 1:
            return Axis(sizes[0], alike[0], "value")
        return Axis(sizes[0], str(sizes[0]), "unknown")

    def guess(self, size: int) -> Axis:
        """Name an axis that only the traced run has: by its value."""
        first = [(name, sizes[0]) for name, sizes in self.varied]
        alike = [name for name, n in first + self.fixed if n == size]
        if len(alike) == 1 and size > 1:
            return Axis(size, alike[0], "value")
        return Axis(size, str(size), "unknown")


@lru_cache(maxsize=4096)
def formula(sizes: Sizes, varied: tuple[tuple[str, Sizes], ...]) -> str:
    """Write sizes as a name, or with a few names; "" if nothing fits.

    Tried in this order: a name; a multiple of it, with something added; the
    same of a product of two or three names; a sum of two.
    """
    for text, values in candidates(varied):
        factor, added = line(values, sizes)
        if all(factor * v + added == size for v, size in zip(values, sizes)):
            return written(text, factor, added)
    return ""


def candidates(varied) -> Iterator[tuple[str, Sizes]]:
    """Give names, products and sums of names with their sizes."""
    for n in (1, 2, 3):
        chosen = itertools.combinations_with_replacement(varied, n)
        for parts in chosen:
            columns = zip(*(sizes for _, sizes in parts))
            text = "*".join(name for name, _ in parts)
            yield text, tuple(math.prod(column) for column in columns)
    for (one, these), (other, those) in itertools.combinations(varied, 2):
        added = tuple(a + b for a, b in zip(these, those))
        yield f"({one}+{other})", added


def line(values: Sizes, sizes: Sizes) -> tuple[Fraction, Fraction]:
    """Fit sizes = factor * values + added, by the first two that differ."""
    for value, size in zip(values, sizes):
        if value != values[0]:
            factor = Fraction(size - sizes[0], value - values[0])
            return factor, sizes[0] - factor * values[0]
    return Fraction(0), Fraction(0)


def written(text: str, factor: Fraction, added: Fraction) -> str:
    """Write factor * text + added as one writes it by hand."""
    over = "" if factor.denominator == 1 else f"/{factor.denominator}"
    many = "" if factor.numerator == 1 else str(factor.numerator)
    plus = "" if added == 0 else f"{'+' if added > 0 else '-'}{abs(added)}"
    bare = text if many or over or plus else text.strip("()")
    return f"{many}{bare}{over}{plus}"
