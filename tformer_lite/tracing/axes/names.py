"""Axis names: sizes of several runs, written with the names of dimensions."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tformer_lite.tracing.axes.formulas import Column, Formulas
from tformer_lite.tracing.axes.sizes import Given, Sizes

LETTERS = re.compile(r"[^\W\d]\w*")
MARKS = {"proved": "", "value": "~", "unknown": "?"}


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
        return self.name + MARKS[self.proof]


Shape = tuple[Axis, ...]
Shapes = tuple[Shape, ...]


class Dims:
    """The dimensions of some runs: a name, and its size in each run.

    `runs` are the sizes of every run, the traced one first, and `given` the
    dimensions as they were given.
    """

    def __init__(self, runs: Sequence[Sizes], given: Given):
        columns = {name: tuple(r[name] for r in runs) for name in runs[0]}
        varied = {n: c for n, c in columns.items() if len(set(c)) > 1}
        self.first = runs[0]
        self.fixed = {n: s for n, s in runs[0].items() if n not in varied}
        self.formulas = Formulas(varied, given)
        self.known: dict[tuple[Column | None, ...], Shape] = {}

    def shape(self, first: Column, *others: Column | None) -> Shape:
        """Name the axes of a tensor that has these shapes, one a run; by
        value alone, where another run has None or other axes."""
        key = first, *others
        if key not in self.known:
            alike = [x for x in others if x and len(x) == len(first)]
            runs = [first, *alike] if len(alike) == len(others) else [first]
            self.known[key] = tuple(map(self.axis, zip(*runs)))
        return self.known[key]

    def axis(self, sizes: Column) -> Axis:
        """Name the axis that has these sizes, one a run: by its value, where
        the others lack it, or where it stays the same."""
        size, probed = sizes[0], len(sizes) > 1
        if len(set(sizes)) > 1:
            name = self.formulas.find(sizes)
            proof = "proved" if name else "unknown"
            return Axis(size, name or str(size), proof)
        known = self.fixed if probed else self.first
        alike = [name for name, n in known.items() if n == size != 1]
        if len(alike) == 1:
            return Axis(size, alike[0], "value")
        proof = "proved" if probed and not alike else "unknown"
        return Axis(size, str(size), proof)


def shape_text(shape: Shape) -> str:
    """Write a named shape: (B, T, C)."""
    return f"({', '.join(map(str, shape))})"


def shapes_text(shapes: Shapes) -> str:
    """Write several named shapes: (B, T, C), (C)."""
    return ", ".join(map(shape_text, shapes))
