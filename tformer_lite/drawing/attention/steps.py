"""An attention as one equation: scores + mask = masked, then weights."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from torch import Tensor

from shapewatch.tracing.questions.attention import Attention
from tformer_lite.drawing.attention import heatmaps
from tformer_lite.drawing.attention.heatmaps import Grid, largest_score
from tformer_lite.drawing.surface import palette
from tformer_lite.drawing.surface.matrix import (
    Matrix,
    matrix_sentences,
    table_of,
)
from tformer_lite.drawing.surface.page import (
    NAME,
    PANEL,
    Box,
    Page,
    Style,
    crop,
    ellipsize,
    place_on_page,
    text_width,
)
from tformer_lite.drawing.surface.picture import Panel, Picture

FAR = 1e4  # what a mask takes away from a score, at least
# Pixels: a matrix, what is above it, and between two of them, for the sign.
SIDE, TOP, SIGN_WIDTH = 134, 42, 20
TITLES = "scores", "mask", "masked", "weights"
SIGN: Style = {"size": 18, "color": palette.RIM[0]}
READ_AS = {"mask": "dark: may not look", "masked": "1 + 2, hatched: hidden"}
READ_AS["weights"] = "softmax of a row, %"


def attention_steps(
    attention: Attention,
    at: Sequence[int] = (1, 0),
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    row: int | str | None = None,
) -> Picture:
    """Draw an attention of a trace step by step: (T, S) -> a picture.

    It reads as one equation, on a phone in two lines: scores + mask =
    masked, and by softmax the weights, in percent from 5 on. Where a mask
    hides nothing, it is scores and weights alone. `at` chooses example and
    head of what `Trace.attention()` found, whose letters the axes have.
    `rows` are words, and so are `columns` (left out, the same); a band leads
    the `row` of a word or number through all. Raises ValueError for a place
    or row that is none.

    >>> attention_steps(running_trace().attention()[0], at=(1, 0))
    scores and weights (8, 8): rows S ...
    """
    letters = tuple(map(str, attention.axes[-2:]))
    parts = attention.scores, attention.masked, attention.weights
    scores, masked, weights = (matrix_at(x, at) for x in parts)
    seen = ~(masked.isneginf() | (masked < scores - FAR))
    shown = scores, seen, masked, weights
    masks = None, None, seen, seen
    kinds = "scores", "mask", "scores", "percent"
    words = rows, columns or rows
    steps = zip(TITLES, shown, masks, kinds, strict=True)
    made = [Matrix(t, x, letters, words, m, k, row) for t, x, m, k in steps]
    made = made if made[2].hidden.any() else made[::3]
    pairs = [draw_pair(made, i) for i in range(0, len(made), 2)]
    boxes = [(box, i) for i, pair in enumerate(pairs) for box in pair[1]]
    panels = [Panel(matrix, *place) for matrix, place in zip(made, boxes)]
    tables = [table_of(matrix, matrix.title) for matrix in made]
    names = ", ".join(matrix.title for matrix in made[:-1])
    text = f"{names} and {matrix_sentences(made[-1])}"
    text = "\n\n".join([text, *filter(None, tables)])
    return Picture([x for x, _ in pairs], text, palette.DARK, panels=panels)


def matrix_at(values: Tensor, at: Sequence[int]) -> Tensor:
    """Look up the matrix of an example and head, or raise ValueError."""
    lead = values.shape[:-2]
    if len(at) != len(lead) or any(not -n <= i < n for i, n in zip(at, lead)):
        raise ValueError(f"at={tuple(at)} must choose one of {tuple(lead)}.")
    return values[tuple(at)]


def draw_pair(made: Sequence[Matrix], first: int) -> tuple[Figure, list[Box]]:
    """Draw two steps in a line, from the first on, with the sign between
    them; say where the cells are."""
    (rows, columns), row = made[0].values.shape, made[0].row
    words = heatmaps.longest(made[0].labels[0])
    side = min(SIDE, (PANEL - 16 - words - SIGN_WIDTH) / 2)
    cell, pitch = min(heatmaps.LARGE, side / columns), side + SIGN_WIDTH
    page, most = Page(pitch + side, TOP + cell * rows), largest_score(made)
    grid = Grid(cell, cell, cell > text_width("00"), most)
    y = TOP + cell * (rows / 2 if row is None else row + 0.5)
    if row is not None:
        box = (-words - 6, y - cell / 2, words + 6 + pitch + side, cell)
        page.box(box, 0, fc=palette.HIGHLIGHT[0], lw=0)
    places = [(first, 0.0), (first + 1, pitch)]
    axes = [draw_step(page, x, side, i, made[i], grid) for i, x in places]
    last = first + 2 == len(made)
    page.write((cell * columns + pitch) / 2, y, "→" if last else "+", **SIGN)
    if row is not None:
        before = (words + 6 + pitch) / cell
        page.frame((-before, row, before + columns, 1), axes[1])
    return crop(page.figure), [place_on_page(page.figure, ax) for ax in axes]


def draw_step(
    page: Page, left: float, side: float, i: int, matrix: Matrix, grid: Grid
) -> Axes:
    """Draw a step: its number, title and shape, how its cells are read, and
    the cells; those that the mask hides are dark there, and then hatched."""
    wide, bold = heatmaps.shape_room(matrix), {"weight": "bold"}
    hidden = heatmaps.runs(matrix.hidden)
    grid = replace(grid, digits=grid.digits and matrix.kind == "percent")
    ax = heatmaps.draw_matrix(page, (left, TOP), matrix, grid)
    page.add(Circle((left + 9, 9), 9, fc=palette.INK[0], lw=0))
    page.write(left + 9, 9, str(i + 1), color=palette.PAPER[0], **bold)
    title = ellipsize(matrix.title, side - wide - 28, size=NAME, **bold)
    page.write(left + 24, 9, title, size=NAME, ha="left", **bold)
    page.shape(left + side - wide / 2, 9, matrix.axes, matrix.values.shape)
    dark = matrix.kind == "mask"
    page.note(left, 30, READ_AS.get(matrix.title, ""), ha="left")
    page.hatch(() if dark else hidden, ax)
    for x, y, *size in hidden if dark else ():
        ax.add_patch(Rectangle((x, y), *size, fc=palette.SHUT[0], lw=0))
    if left:  # its rows are those at its left
        ax.set_yticks([])
    if not i:
        ends = {"scores": heatmaps.limits(matrix, grid)}
        heatmaps.draw_scales(page, ends, (left, 30))
    return ax
