"""Heatmaps of the matrices inside a Transformer."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface import palette
from tformer_lite.drawing.surface.matrix import (
    Matrix,
    check_axis,
    describe,
    framed_boxes,
    number,
    with_minus,
)
from tformer_lite.drawing.surface.page import (
    NAME,
    PANEL,
    SIZE,
    Box,
    Page,
    Place,
    Style,
    crop,
    ellipsize,
    lines,
    place_on_page,
    shape_width,
    text_width,
    tight_box,
)
from tformer_lite.drawing.surface.picture import Panel, Picture, with_style

MOST_ROWS = 24  # rows and columns that are drawn cell by cell
# Cells: a square, with digits; an image.
SQUARE, ROW_HEIGHT, IMAGE_HEIGHT, LARGE = 20, 22, 320, 29
LONGEST, TURN = 120, math.radians(60)  # words: their width, those below
SHAPE_HEIGHT, TITLE_HEIGHT = 36, 15  # heights in a heading
STEPS = [x * 10**i for i in range(6) for x in (1, 2, 5)]  # between words


def heatmap(
    *matrices: Tensor,
    axes: str = "T S",
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    mask: Tensor | None = None,
    kind: str | None = None,
    titles: list[str] | None = None,
    row: int | str | None = None,
    diagonal: int | None = None,
) -> Picture:
    """Draw matrices as heatmaps, side by side: (T, S) -> a picture.

    Each panel is headed by its argument as you wrote it and its shape;
    `titles` replaces what you wrote. `axes` names rows and columns by the
    book's letters, or by plain words ("beam word"); `rows` and `columns`
    label them; twice as many columns are those of both panels in turn.
    `kind` is "scores" (colours centred on 0), "weights" (fixed from 0 to 1),
    "percent" (weights in large cells, none below 5 % written) or "mask";
    left out, it is read off the values. Cells of −∞, and cells where `mask`
    is False, are hatched. The `row` of a word or number is framed, and of
    scores it alone has digits; framed are, too, the cells of a `diagonal`,
    whose row number is so much larger than that of their column. Long tables
    are drawn as images. Raises ValueError for anything but matrices, and for
    a row that is none.

    >>> heatmap(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights (2, 3): rows T (target position), columns ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["matrix"] * len(matrices)
    if not matrices or len(titles) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, {len(titles)} titles.")
    letters, words = tuple(axes.split()), column_words(matrices, columns)
    for letter in letters:
        check_axis(letter)
    if len(letters) != 2:
        raise ValueError(f"{axes=} must be two names, such as 'T S'.")
    shown = [
        Matrix(title, values, letters, (rows, some), mask, kind, row, diagonal)
        for title, values, some in zip(titles, matrices, words)
    ]
    figures, boxes = draw_matrices(shown)
    panels = [Panel(m, box, i) for i, (m, box) in enumerate(zip(shown, boxes))]
    return Picture(figures, describe(shown), palette.DARK, panels=panels)


def column_words(
    matrices: Sequence[Tensor], words: list[str] | None
) -> list[list[str] | None]:
    """Give each panel the words of its columns: the same, or its part."""
    size, count = len(words or "") // len(matrices), len(matrices)
    fits = (torch.as_tensor(x).shape[-1:] == (size,) for x in matrices)
    if words and all(fits):
        return [words[i * size : (i + 1) * size] for i in range(count)]
    return [words] * count


@dataclass(frozen=True)
class Grid:
    """How all panels of a picture are drawn: their cells, whether there are
    digits in these, and the largest score that colours show."""

    wide: float
    high: float
    digits: bool
    most: float


def draw_matrices(
    matrices: Sequence[Matrix],
) -> tuple[list[Figure], list[Box]]:
    """Draw panels of one size, and say where their cells are."""
    room = PANEL - max(map(row_margin, matrices))
    grid = grid_of(matrices, room)
    heading = heading_of(matrices, room)
    rows, columns = map(max, zip(*(m.values.shape for m in matrices)))
    drawn = list[tuple[Figure, Axes]]()
    for matrix in matrices:
        page = Page(columns * grid.wide, heading.high + rows * grid.high)
        ax = draw_matrix(page, (0, heading.high), matrix, grid)
        page.hatch(runs(matrix.hidden), ax)
        draw_head(page, matrix, heading)
        for box in framed_boxes(matrix):
            page.frame(box, ax)
        if not (grid.digits or drawn):
            shown = [m for m in matrices if m.kind != "mask"]
            draw_scales(page, {m.kind: limits(m, grid) for m in shown})
        drawn.append((page.figure, ax))
    largest = Bbox.union([tight_box(figure) for figure, _ in drawn])
    figures = [crop(figure, largest) for figure, _ in drawn]
    return figures, [place_on_page(*panel) for panel in drawn]


def grid_of(matrices: Sequence[Matrix], room: float) -> Grid:
    """Choose cells for matrices that may be so wide: with digits where these
    fit, else square, or those of an image."""
    rows, columns = map(max, zip(*(m.values.shape for m in matrices)))
    most, wide = largest_score(matrices), room / columns
    if matrices[0].kind == "percent":
        side = min(wide, LARGE)
        return Grid(side, side, text_width("100") + 3 <= side, most)
    if max(rows, columns) > MOST_ROWS:
        high = min(IMAGE_HEIGHT / rows, SQUARE)
        wide = min(wide, high if rows == columns else SQUARE)
        return Grid(wide, high, False, most)
    cells = {text for m in matrices for row in m.texts for text in row}
    least = max(map(text_width, cells)) + 2
    if least <= wide:
        return Grid(min(wide, max(least + 9, 40)), ROW_HEIGHT, True, most)
    return Grid(min(wide, SQUARE), min(wide, SQUARE), False, most)


def largest_score(matrices: Sequence[Matrix]) -> float:
    """Find the largest size of a score, so that matrices share one scale."""
    seen = [m.values[~m.hidden] for m in matrices if m.kind == "scores"]
    sizes = torch.cat([torch.zeros(1), *seen]).abs()
    return sizes[sizes.isfinite()].max().item() or 1.0


def limits(matrix: Matrix, grid: Grid) -> Place:
    """Tell which values the ends of a matrix's scale stand for."""
    return (-grid.most, grid.most) if matrix.kind == "scores" else (0.0, 1.0)


def shape_room(matrix: Matrix) -> float:
    """Give the width of a matrix's shape."""
    return shape_width(matrix.axes, tuple(matrix.values.shape))


def row_margin(matrix: Matrix) -> float:
    """Give the room that the words of a matrix need at its left."""
    rows, columns = map(longest, matrix.labels)
    return max(rows + 8, (columns - 10) * math.cos(TURN) - 5)


def longest(words: Sequence[str]) -> float:
    """Give the width of the longest word, as it is written."""
    return min(max(map(text_width, words)), LONGEST)


@dataclass(frozen=True)
class Headroom:
    """How high the headings of matrices are, which lines their titles have
    in so much room, and whether titles and shapes are level."""

    room: float
    high: float
    level: bool

    def title(self, matrix: Matrix) -> list[str]:
        """Break a matrix's title into lines."""
        return lines(matrix.title, self.room, NAME, "bold")


def heading_of(matrices: Sequence[Matrix], room: float) -> Headroom:
    """Choose a heading for matrices."""
    heads = [lines(m.title, room, NAME, "bold") for m in matrices]
    level = all(
        len(lines(m.title, room - 10 - shape_room(m), NAME, "bold")) == 1
        for m in matrices
    )
    many = 0 if level else max(map(len, heads))
    return Headroom(room, SHAPE_HEIGHT + TITLE_HEIGHT * many, level)


@with_style
def draw_matrix(page: Page, corner: Place, matrix: Matrix, grid: Grid) -> Axes:
    """Draw a matrix's cells and words to the right of a corner and below."""
    rows, columns = matrix.values.shape
    ax = page.axes((*corner, columns * grid.wide, rows * grid.high))
    if max(rows, columns) > MOST_ROWS:
        draw_image(ax, matrix, limits(matrix, grid))
    else:
        draw_cells(ax, matrix, grid)
    label_cells(ax, matrix, (grid.wide, grid.high))
    return ax


def draw_head(page: Page, matrix: Matrix, heading: Headroom) -> None:
    """Write a matrix's title and shape above its cells."""
    head, low, left = heading.title(matrix), heading.high - 20, 0.0
    bold: Style = {"weight": "bold", "size": NAME}
    for i, line in enumerate(head):
        y = low if heading.level else 8 + TITLE_HEIGHT * i
        page.write(0, y, line, ha="left", **bold)
    left = text_width(head[0], NAME, "bold") + 10 if heading.level else 0
    middle = left + shape_room(matrix) / 2
    page.shape(middle, low, matrix.axes, matrix.values.shape)


def draw_cells(ax: Axes, matrix: Matrix, grid: Grid) -> None:
    """Draw coloured cells, with a number in each where it fits."""
    import seaborn as sns  # slow: imported when something is to be drawn

    kind, (low, high) = palette.KINDS[matrix.kind], limits(matrix, grid)
    look: Style = {"vmin": low, "vmax": high, "cmap": kind.scale(kind.light)}
    look |= {"annot_kws": {"color": palette.INK[0], "size": SIZE}, "fmt": ""}
    look |= {"linewidths": 0.6, "linecolor": palette.EDGE[0], "clip_on": False}
    look |= {"xticklabels": False, "yticklabels": False, "cbar": False}
    values = matrix.values.double().masked_fill(matrix.hidden, 0).numpy()
    digits = matrix.texts if grid.digits else None
    sns.heatmap(values, annot=digits, ax=ax, **look)
    if matrix.row is not None and len(ax.texts) == values.size:
        i, j = matrix.best
        ax.texts[i * values.shape[1] + j].set_weight("bold")


def draw_image(ax: Axes, matrix: Matrix, ends: tuple[float, float]) -> None:
    """Draw a long table as an image: colours that let the page through, so
    that they do on a dark one, too."""
    kind = palette.KINDS[matrix.kind]
    share = matrix.values.double() / ends[1]
    share = share.masked_fill(matrix.hidden, 0).nan_to_num().clamp(-1, 1)
    colours = torch.tensor([to_rgb(kind.light[0]), to_rgb(kind.light[-1])])
    rgb = colours.double()[(share > 0).long()]
    rgba = (torch.cat((rgb, share.abs()[..., None]), -1) * 255).round()
    rows, columns = share.shape
    look: Style = {"extent": (0, columns, rows, 0), "interpolation": "none"}
    ax.imshow(rgba.byte().numpy(), aspect="auto", **look)


def runs(hidden: Tensor) -> list[Box]:
    """Find cells beside each other that are hidden, as boxes of cells."""
    change = torch.nn.functional.pad(hidden.long(), (1, 1)).diff(dim=1)
    starts, ends = (change == 1).nonzero(), (change == -1).nonzero()
    return [
        (start, i, end - start, 1)
        for (i, start), (_, end) in zip(starts.tolist(), ends.tolist())
    ]


def label_cells(ax: Axes, matrix: Matrix, cell: Place) -> None:
    """Write the words of rows and columns, each as far from the next as it
    needs; those below are turned where they would meet."""
    rows, columns = matrix.labels
    room = longest(columns) + 4
    level = all(map(str.isdecimal, columns)) or room <= cell[0]
    slanted = not level and cell[0] >= 16  # nearer ones are upright
    ax.set_axis_on()
    ax.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    ax.tick_params(pad=4)
    ax.xaxis.set_tick_params(pad=8 if slanted else 4)
    ax.set_frame_on(max(len(rows), len(columns)) > MOST_ROWS)
    label_axis(ax.yaxis, rows, 11 / cell[1])
    room, aside = room if level else 12, 5 * slanted
    label_axis(ax.xaxis, columns, room / cell[0], aside / cell[0])
    slant: Style = {"rotation": 60, "rotation_mode": "anchor", "ha": "right"}
    turn = slant | {"va": "baseline"} if slanted else {"rotation": 90}
    for text in ax.get_xticklabels():
        text.set(**({} if level else turn))


def label_axis(
    axis: Axis, words: list[str], step: float, aside: float = 0
) -> None:
    """Write the words of an axis, so many cells apart; padding is grey."""
    places = range(0, len(words), next(s for s in STEPS if s >= step))
    texts = [ellipsize(words[i], LONGEST) for i in places]
    axis.set_ticks([i + 0.5 + aside for i in places], texts)
    for text in axis.get_ticklabels():
        padding = text.get_text() == "[PAD]"
        text.set_color((palette.GREY if padding else palette.INK)[0])


def draw_scales(
    page: Page, ends: Mapping[str, Place], corner: Place | None = None
) -> None:
    """Draw a tiny scale for each unit below all that is drawn, or where it is
    said: its lowest and highest value, and its name, unless there are scores
    alone."""
    left, y = corner or (0, page.bottom() + 14)
    for i, (name, (low, high)) in enumerate(ends.items()):
        x, middle = left + i % 2 * 175.0, y + i // 2 * 18
        texts = ["0", "1"] if low == 0 else [number(low), number(high)]
        names = [name] if [*ends] != ["scores"] else []
        for text in (*names, with_minus(texts[0])):
            page.note(x, middle, text, ha="left")
            x += text_width(text) + 6
        kind, box = palette.KINDS[name], (x, middle - 5, 45, 10)
        shades = torch.linspace(low, high, 9)[None]
        page.cells(box, shades, kind, (low, high))
        page.note(x + 51, middle, texts[1], ha="left")
