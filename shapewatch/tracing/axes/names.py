"""Axis names: sizes of several runs, written with the names of dimensions."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from shapewatch.tracing.axes.formulas import Column, Formulas
from shapewatch.tracing.axes.sizes import LETTERS, Dims, Sizes

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


class ShapeNamer:
    """The dimensions of some runs: a name, and its size in each run.

    `runs` are the sizes of every run, the traced one first, and `given` the
    dimensions as they were given.
    """

    def __init__(self, runs: Sequence[Sizes], given: Dims):
        self.runs, self.given = runs, given
        self.some: dict[tuple[int, ...], AxisNamer] = {}
        self.known: dict[tuple[Column | None, ...], Shape] = {}

    def shape(self, *shapes: Column | None) -> Shape:
        """Name the axes of a tensor that has these shapes, one a run; in the
        light of the runs in which it has as many axes."""
        if shapes not in self.known:
            many = len(shapes[0] or ())
            runs = [i for i, x in enumerate(shapes) if x and len(x) == many]
            alike = [x for x in shapes if x and len(x) == many]
            named = self.named(tuple(runs))
            self.known[shapes] = tuple(map(named.axis, zip(*alike)))
        return self.known[shapes]

    def named(self, which: tuple[int, ...]) -> "AxisNamer":
        """What some of the runs tell."""
        if which not in self.some:
            runs = [self.runs[i] for i in which or [0]]
            self.some[which] = AxisNamer(runs, self.given)
        return self.some[which]


@lru_cache(16)
def shape_namer(runs: tuple[tuple, ...], given: tuple) -> ShapeNamer:
    """Give the dimensions of some runs, by their items, with all that they
    have named so far: many traces have the same sizes."""
    return ShapeNamer(list(map(dict, runs)), dict(given))


class AxisNamer:
    """What some runs tell of an axis."""

    def __init__(self, runs: Sequence[Sizes], given: Dims):
        self.fixed = {
            name: size
            for name, size in runs[0].items()
            if all(run[name] == size for run in runs)
        }
        self.probed, self.formulas = len(runs) > 1, Formulas(runs, given)

    def axis(self, sizes: Column) -> Axis:
        """Name the axis that has these sizes, one a run: by its value, where
        it stays the same."""
        size = sizes[0]
        if len(set(sizes)) > 1:
            name = self.formulas.find(sizes)
            proof = "proved" if name else "unknown"
            return Axis(size, name or str(size), proof)
        alike = [name for name, n in self.fixed.items() if n == size != 1]
        if len(alike) == 1:
            return Axis(size, alike[0], "value")
        proof = "proved" if self.probed and not alike else "unknown"
        return Axis(size, str(size), proof)


def shape_text(shape: Shape) -> str:
    """Write a named shape: (B, T, C)."""
    return f"({', '.join(map(str, shape))})"


def shapes_text(shapes: Shapes) -> str:
    """Write several named shapes: (B, T, C), (C)."""
    return ", ".join(map(shape_text, shapes))


def sizes_text(texts: Iterable[str], sizes: Sizes) -> str:
    """List the sizes of the names that some texts use: B=2, T=8."""
    used = set(LETTERS.findall(" ".join(texts)))
    return ", ".join(
        f"{name}={n}" for name, n in sizes.items() if name in used
    )
