"""Axis names: sizes of several runs, written with the names of dimensions."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
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
    """Names the axes of tensors by their sizes in several runs.

    `runs` are the sizes of the dimensions in every run, the traced one first,
    and `dims` the dimensions as they were given. Most tensors of a run have a
    shape that was named before: each is named once.
    """

    def __init__(self, runs: Sequence[Sizes], dims: Dims):
        self.runs, self.dims = runs, dims
        self.shape = cache(self.named_shape)
        self.axis_namer = cache(self.namer_of_runs)

    def named_shape(self, *shapes: Column | None) -> Shape:
        """Name the axes of a tensor that has these shapes, one a run; in the
        light of the runs in which it has as many axes."""
        count = len(shapes[0] or ())
        alike = {i: x for i, x in enumerate(shapes) if x and len(x) == count}
        namer = self.axis_namer(*alike)
        return tuple(map(namer.axis, zip(*alike.values())))

    def namer_of_runs(self, *runs: int) -> "AxisNamer":
        """Give what names axes in the light of some of the runs."""
        return AxisNamer([self.runs[i] for i in runs or [0]], self.dims)


@lru_cache(16)
def shape_namer(runs: tuple[tuple, ...], dims: tuple) -> ShapeNamer:
    """Give what names the axes of some runs, by the items of their sizes:
    traces that have the same sizes share it."""
    return ShapeNamer(list(map(dict, runs)), dict(dims))


class AxisNamer:
    """Names axes by their sizes in some runs, by formulas that fit them."""

    def __init__(self, runs: Sequence[Sizes], dims: Dims):
        self.fixed = {
            name: size
            for name, size in runs[0].items()
            if all(run[name] == size for run in runs)
        }
        self.is_probed = any(run != runs[0] for run in runs)
        self.formulas = Formulas(runs, dims)

    def axis(self, sizes: Column) -> Axis:
        """Name the axis that has these sizes, one a run: by its value, where
        it stays the same."""
        size = sizes[0]
        if len(set(sizes)) > 1:
            formula = self.formulas.find(sizes)
            proof = "proved" if formula else "unknown"
            return Axis(size, formula or str(size), proof)
        alike = [name for name, n in self.fixed.items() if n == size != 1]
        if len(alike) == 1:
            return Axis(size, alike[0], "value")
        proof = "proved" if self.is_probed and not alike else "unknown"
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
