"""Ribbons from words to words, as wide as the weights between them."""

import sys
from collections.abc import Sequence

from torch import Tensor

from pictures.weave import RIBBON, draw
from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import Matrix, table_of
from tformer_lite.drawing.surface.page import NARROW, WIDE
from tformer_lite.drawing.surface.palette import DARK
from tformer_lite.drawing.surface.picture import Picture
from tformer_lite.rounding import rounded

__all__ = ["ribbons"]


def ribbons(
    *weights: Tensor,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    row: int | str | None = None,
    titles: Sequence[str] | None = None,
) -> Picture:
    """Draw attention as ribbons, as wide as its weights: (T, S) -> a picture.

    Each of the words `rows` has ribbons from those of the `columns` that it
    attends to; weights below 0.1 have none. Several matrices, such as
    heads, stand beside each other. The `row` of a number or word is lit;
    `titles` replaces what you wrote. Raises ValueError for what is no
    matrix, or has negative numbers.

    >>> ribbons(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights: ribbons as wide as weights, (2, 3). 0 attends to 0 (0.33). ...
    """
    heads = titles or argument_texts(sys._getframe(1))
    heads = heads or ["matrix"] * len(weights)
    if not weights or len(heads) != len(weights):
        raise ValueError(f"{len(weights)} matrices, {len(heads)} titles.")
    labels = [list(words) if words else None for words in (rows, columns)]
    shown = [
        Matrix(title, values, ("T", "S"), labels, None, "weights")
        for title, values in zip(heads, weights)
    ]
    for matrix in shown:
        if (matrix.values < 0).any():
            raise ValueError(f"{matrix.title} has negative numbers.")
    lit = place_of(row, shown[0].labels[0])
    wide, small = (draw(shown, lit, width) for width in (WIDE, NARROW))
    return Picture(wide, describe(shown, lit), DARK | dict([RIBBON]), small)


def place_of(row: int | str | None, words: list[str]) -> int | None:
    """Find a row by its number or word. Raises ValueError for another."""
    if isinstance(row, str) and row in words:
        return words.index(row)
    if isinstance(row, str) or not -1 < (row or 0) < len(words):
        raise ValueError(f"{row=} is none of {', '.join(words)}.")
    return row


def describe(matrices: Sequence[Matrix], lit: int | None) -> str:
    """Say what ribbons show: what is lit, or else each row; then numbers."""
    words = []
    for matrix in matrices:
        sizes = tuple(matrix.values.shape)
        words.append(f"{matrix.title}: ribbons as wide as weights, {sizes}.")
        rows = range(len(matrix.values)) if lit is None else [lit]
        words += [attends(matrix, i, 1 if lit is None else 3) for i in rows]
    numbers = [table_of(matrix, matrix.title) for matrix in matrices]
    return "\n\n".join([" ".join(words), *filter(None, numbers)])


def attends(matrix: Matrix, i: int, most: int) -> str:
    """Say what a row attends to most."""
    shares = list(map(rounded, matrix.values[i].tolist()))
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:most]
    best = [f"{matrix.labels[1][j]} ({shares[j]:.2f})" for j in order]
    return f"{matrix.labels[0][i]} attends to {', '.join(best)}."
