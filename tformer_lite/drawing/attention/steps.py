"""The steps of an attention at reading size: scores, mask, masked, weights."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from torch import Tensor

from shapewatch.tracing.questions.attention import Attention
from tformer_lite.drawing.attention.heatmaps import (
    Grid,
    draw_matrices,
    draw_matrix,
    draw_scales,
    heading_of,
    largest_score,
    longest,
    row_margin,
)
from tformer_lite.drawing.surface.matrix import (
    Matrix,
    matrix_sentences,
    table_of,
)
from tformer_lite.drawing.surface.page import (
    HALF,
    Box,
    Page,
    crop,
    place_on_page,
)
from tformer_lite.drawing.surface.palette import DARK
from tformer_lite.drawing.surface.picture import Panel, Picture

FAR = 1e4  # what a mask takes away from a score, at least
CELL, BETWEEN = 17, 14  # of the small panels: a cell, and between two
TITLES = "1 scores", "2 mask", "3 masked", "4 weights in percent"


def attention_steps(
    attention: Attention,
    at: Sequence[int] = (1, 0),
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    row: int | str | None = None,
    titles: Sequence[str] | None = None,
) -> Picture:
    """Draw an attention of a trace step by step: (T, S) -> a picture.

    Scores, mask and masked scores are small, the weights large, with their
    percent, where these are 5 or more. `at` chooses example and head of what
    `Trace.attention()` found; the letters of the axes are those that it
    measured. `rows` are words, and so are `columns` (left out, they are the
    same); the `row` of a word or number is framed. `titles` replaces the
    four titles. Raises ValueError for a place or a row that is none.

    >>> attention_steps(running_trace().attention()[0], at=(1, 0))
    1 scores, 2 mask, 3 masked and 4 weights in percent (8, 8): rows S ...
    """
    letters = tuple(map(str, attention.axes[-2:]))
    parts = attention.scores, attention.masked, attention.weights
    scores, masked, weights = (matrix_at(x, at) for x in parts)
    seen = ~(masked.isneginf() | (masked < scores - FAR))
    shown = scores, seen, masked, weights
    masks = None, None, seen, seen
    kinds = "scores", "mask", "scores", "percent"
    words = rows, columns or rows
    made = [
        Matrix(title, values, letters, words, mask, kind, row)
        for title, values, mask, kind in zip(
            titles or TITLES, shown, masks, kinds, strict=True
        )
    ]
    (large,), (place,) = draw_matrices(made[3:], HALF)
    small, boxes = draw_small(made[:3])
    panels = [Panel(m, box) for m, box in zip(made, boxes)]
    panels.append(Panel(made[3], place, 1))
    tables = [table_of(matrix, matrix.title) for matrix in made]
    names = ", ".join(matrix.title for matrix in made[:3])
    text = f"{names} and {matrix_sentences(made[3])}"
    text = "\n\n".join([text, *filter(None, tables)])
    return Picture([small, large], text, DARK, panels=panels)


def matrix_at(values: Tensor, at: Sequence[int]) -> Tensor:
    """Look up the matrix of an example and head. Raises ValueError where
    there is none."""
    lead = values.shape[:-2]
    if len(at) != len(lead) or any(not -n <= i < n for i, n in zip(at, lead)):
        raise ValueError(f"at={tuple(at)} must choose one of {tuple(lead)}.")
    return values[tuple(at)]


def draw_small(matrices: Sequence[Matrix]) -> tuple[Figure, list[Box]]:
    """Draw scores and mask side by side, and below them the masked scores;
    say where the cells of each are."""
    matrix = matrices[0]
    rows, columns = matrix.values.shape
    margin = row_margin(matrix)
    cell = min(CELL, (HALF - margin - BETWEEN) / 2 / columns)
    most = largest_score(matrices)
    grid = Grid(cell, cell, False, most)
    heading = heading_of(matrices, cell * columns)
    right = cell * columns + BETWEEN
    words = longest(matrix.labels[1]) + BETWEEN
    below = heading.high + cell * rows + words
    page = Page(2 * right, 2 * below)
    corners = (0, 0), (right, 0), (0, below)
    axes = [
        draw_matrix(page, corner, matrix, grid, heading)
        for matrix, corner in zip(matrices, corners)
    ]
    axes[1].set_yticks([])  # its rows are those at its left
    middle = below + heading.high + cell * rows / 2
    draw_scales(page, {"scores": (-most, most)}, (right, middle))
    if matrices[1].hidden.any():
        page.hatch([(right, middle + 15, 2 * cell, cell)])
        x, y = right + 2 * cell + 6, middle + 15 + cell / 2
        page.note(x, y, "hidden", ha="left")
    figure = crop(page.figure)
    return figure, [place_on_page(figure, ax) for ax in axes]
