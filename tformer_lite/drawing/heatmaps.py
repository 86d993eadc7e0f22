"""Heatmaps of the matrices inside a Transformer."""

import math
import sys

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from tformer_lite.drawing.matrix import Matrix, check_known, describe
from tformer_lite.drawing.palette import AXES, DARK, EDGE, HATCH, INK, KINDS
from tformer_lite.drawing.picture import Picture, styled
from tformer_lite.tracing.source.expressions import argument_texts

# Inches: above and below a matrix, for its words; and of one label.
HEAD, ROOM = 0.85, 0.2
Cell = tuple[float, float]  # how wide and how high one is


def heatmap(
    *matrices: Tensor,
    axes: str = "T S",
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    mask: Tensor | None = None,
    kind: str | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw matrices as heatmaps, one below the other: (T, S) -> a picture.

    Each panel is headed by its argument as you wrote it and its shape;
    `titles` replaces what you wrote. `axes` names rows and columns by the
    book's letters, `rows` and `columns` label them. `kind` is "scores"
    (colours centred on 0), "weights" (fixed from 0 to 1) or "mask"; left
    out, it is read off the values. Cells of −∞, and cells where `mask` is
    False, are hatched. Raises ValueError for anything but matrices.

    >>> heatmap(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights (2, 3): rows T (position that asks), columns S ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["matrix"] * len(matrices)
    if not matrices or len(titles) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, {len(titles)} titles.")
    for letter in axes.split():
        check_known("axis", letter, AXES)
    if len(axes.split()) != 2:
        raise ValueError(f"{axes=} must be two letters, such as 'T S'.")
    letters, labels = tuple(axes.split()), (rows, columns)
    shown = [
        Matrix(title, values, letters, labels, mask, kind)
        for title, values in zip(titles, matrices)
    ]
    dark = dict(DARK)
    for matrix in shown:
        dark |= KINDS[matrix.kind].counterparts()
    return Picture(draw_matrices(shown), describe(shown), dark)


@styled
def draw_matrices(matrices: list[Matrix]) -> Figure:
    """Stack matrices, each as high as its rows need (sizes in inches)."""
    rows, columns = map(max, zip(*(each.values.shape for each in matrices)))
    cell = min(0.55, 5.5 / columns), min(0.3, 6 / rows)
    above = [HEAD, *(HEAD + slant(each, cell[0]) for each in matrices[:-1])]
    wide, limit = columns * cell[0] + 1.5, largest_score(matrices)
    bottom = high = sum(len(m.values) for m in matrices) * cell[1] + sum(above)
    figure = Figure(figsize=(wide, high))
    for matrix, head in zip(matrices, above):
        n_rows, n_columns = matrix.values.shape
        width, height = n_columns * cell[0], n_rows * cell[1]
        bottom -= head + height
        box = 1.5 / wide, bottom / high, width / wide, height / high
        draw_matrix(matrix, figure.add_axes(box), cell, limit)
    return figure


def largest_score(matrices: list[Matrix]) -> float:
    """Find the largest size of a score, so that matrices share one scale."""
    seen = [m.values[~m.hidden] for m in matrices if m.kind == "scores"]
    sizes = torch.cat([torch.zeros(1), *seen]).abs()
    return sizes[sizes.isfinite()].max().item() or 1.0


def draw_matrix(matrix: Matrix, ax: Axes, cell: Cell, limit: float) -> None:
    """Draw one matrix: coloured cells, numbers, hatching, labels."""
    import seaborn as sns  # slow: imported when something is to be drawn

    kind = KINDS[matrix.kind]
    room = cell[0] >= 0.45 and cell[1] >= 0.25
    # With a minus sign that is as wide as a plus.
    texts = [[t.replace("-", "−") for t in row] for row in matrix.cells]
    sns.heatmap(
        matrix.values.double().masked_fill(matrix.hidden, 0).numpy(),
        vmin=-limit if matrix.kind == "scores" else 0,
        vmax=limit if matrix.kind == "scores" else 1,
        cmap=kind.scale(kind.light),
        cbar=False,
        annot=texts if room else None,
        fmt="",
        annot_kws={"color": INK[0]},
        linewidths=0.7,
        linecolor=EDGE[0],
        clip_on=False,
        ax=ax,
    )
    for row, column in matrix.hidden.nonzero().tolist():
        patch = Rectangle((column, row), 1, 1, fill=False, hatch="///")
        patch.set(linewidth=0, edgecolor=HATCH[0], clip_on=False, zorder=1.5)
        ax.add_patch(patch)  # below the number
    draw_labels(matrix, ax, cell)


def draw_labels(matrix: Matrix, ax: Axes, cell: Cell) -> None:
    """Write the heading, and name and label both axes."""
    ax.set_title(matrix.heading, loc="left", color=INK[0], size=11)
    words = zip(matrix.axes, matrix.names, matrix.labels)
    sides = zip((ax.yaxis, ax.xaxis), cell[::-1], words)
    for axis, size, (letter, name, labels) in sides:
        step = math.ceil(ROOM / size)
        places = [place + 0.5 for place in range(len(labels))]
        axis.set_ticks(places[::step], labels[::step])
        axis.set_tick_params(length=0, labelcolor=INK[0], rotation=0)
        axis.set_label_text(f"{letter}: {name}", color=AXES[letter][1][0])
    if slant(matrix, cell[0]):
        ax.xaxis.set_tick_params(rotation=45)
    if len(ax.get_ylabel()) * 0.07 > len(matrix.values) * cell[1] + 0.4:
        # There is room for the letter, and not for its words.
        ax.set_ylabel(matrix.axes[0], rotation=0, ha="right", va="center")


def slant(matrix: Matrix, wide: float) -> float:
    """Tell how many more inches slanted column labels reach down than level
    ones; 0 where the labels of cells so wide fit side by side."""
    longest = max(map(len, matrix.labels[1]))
    level = longest * 0.09 <= wide * math.ceil(ROOM / wide)
    return 0.0 if level else longest * 0.065 - 0.1
