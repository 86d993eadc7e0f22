"""Heatmaps of the matrices inside a Transformer."""

import sys

import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.attention.heatmap_layout import (
    GAP,
    LONGEST,
    TITLE,
    Layout,
    body,
    groups,
    head,
    head_width,
    is_level,
    longest,
    ticks,
)
from tformer_lite.drawing.attention.strip_page import (
    Ends,
    Strip,
    draw_scales,
    style_of,
)
from tformer_lite.drawing.surface.matrix import (
    Matrix,
    check_axis,
    describe,
    with_minus,
)
from tformer_lite.drawing.surface.page import (
    NAME,
    NARROW,
    SMALL,
    WIDE,
    Box,
    Page,
    Place,
    Style,
    shape_width,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    CENTRED,
    DARK,
    EDGE,
    INK,
    KINDS,
)
from tformer_lite.drawing.surface.panels import Panel
from tformer_lite.drawing.surface.picture import Picture, styled

BETWEEN, SCALES = 14, 24  # below a row of panels; of the scales below all


def heatmap(
    *matrices: Tensor,
    axes: str = "T S",
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    mask: Tensor | None = None,
    kind: str | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw matrices as heatmaps, side by side: (T, S) -> a picture.

    Each panel is headed by its argument as you wrote it and its shape;
    `titles` replaces what you wrote. `axes` names rows and columns by the
    book's letters, or by plain words ("beam word"); `rows` and `columns`
    label them. `kind` is "scores" (colours centred on 0), "weights" (fixed
    from 0 to 1) or "mask"; left out, it is read off the values. Cells of −∞,
    and cells where `mask` is False, are hatched. Long tables are drawn as
    images. Raises ValueError for anything but matrices.

    >>> heatmap(softmax(torch.zeros(2, 3)), titles=["weights"])
    weights (2, 3): rows T (query position), columns S ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["matrix"] * len(matrices)
    if not matrices or len(titles) != len(matrices):
        raise ValueError(f"{len(matrices)} matrices, {len(titles)} titles.")
    letters, labels = tuple(axes.split()), (rows, columns)
    for letter in letters:
        check_axis(letter)
    if len(letters) != 2:
        raise ValueError(f"{axes=} must be two names, such as 'T S'.")
    shown = [
        Matrix(title, values, letters, labels, mask, kind)
        for title, values in zip(titles, matrices)
    ]
    dark = dict(DARK)
    for matrix in shown:
        dark |= KINDS[matrix.kind].counterparts()
    (wide, boxes), (narrow, small) = (
        draw_matrices(shown, width) for width in (WIDE, NARROW)
    )
    panels = list(map(Panel, shown, boxes, small))
    return Picture(wide, describe(shown), dark, narrow, panels)


def draw_matrices(
    matrices: list[Matrix], width: float
) -> tuple[Figure, list[Box]]:
    """Draw matrices on a page so wide, and say where their cells are."""
    plan = Layout(matrices, width)
    lanes = groups(plan)
    high = sum(head(plan, row) + body(plan, row) + BETWEEN for row in lanes)
    ends = {} if plan.digits else scales_of(matrices)
    page = Page(width, high - BETWEEN + SCALES * bool(ends))
    limit, boxes, top = largest_score(matrices), list[Box](), 0.0
    for row in lanes:
        left = plan.margin
        for i in row:
            corner = left, top + head(plan, row)
            boxes.append(draw_panel(page, plan, i, corner, limit))
            if i == row[0] or not plan.shared:
                draw_rows(page, plan, matrices[i], corner)
            wide = plan.cell[0] * matrices[i].values.shape[1]
            left += max(wide, head_width(plan, i, plan.in_line)) + GAP
            left += 0 if plan.shared else plan.margin
        top += head(plan, row) + body(plan, row) + BETWEEN
    if ends:
        draw_scales(Strip(page, 0, ends), page.height - SCALES / 2)
    return page.figure, boxes


def scales_of(matrices: list[Matrix]) -> Ends:
    """Tell which values the ends of each scale stand for."""
    limit, kinds = largest_score(matrices), {m.kind for m in matrices}
    ends = {"weights": (0.0, 1.0), "scores": (-limit, limit)}
    named = {kind: ends[kind] for kind in ends if kind in kinds}
    return {"" if kind == "scores" else kind: x for kind, x in named.items()}


def largest_score(matrices: list[Matrix]) -> float:
    """Find the largest size of a score, so that matrices share one scale."""
    seen = [m.values[~m.hidden] for m in matrices if m.kind == "scores"]
    sizes = torch.cat([torch.zeros(1), *seen]).abs()
    return sizes[sizes.isfinite()].max().item() or 1.0


def draw_panel(
    page: Page, plan: Layout, i: int, corner: Place, limit: float
) -> Box:
    """Draw one matrix with its heading, and the words below it."""
    matrix, (left, top) = plan.matrices[i], corner
    draw_head(page, plan, i, corner)
    rows, columns = matrix.values.shape
    box = left, top, columns * plan.cell[0], rows * plan.cell[1]
    limits = (-limit, limit) if matrix.kind == "scores" else (0.0, 1.0)
    if plan.is_image:
        draw_image(page, matrix, box, limits)
    elif plan.digits:
        draw_digits(page, matrix, box, limits, plan.digits)
    else:
        values = matrix.values.double()
        page.cells(box, values, KINDS[matrix.kind], limits, matrix.hidden)
    draw_columns(page, plan, matrix, (left, top + box[3]))
    return box


def draw_head(page: Page, plan: Layout, i: int, corner: Place) -> None:
    """Write the title of a matrix, and its letters above its sizes."""
    matrix, (left, top) = plan.matrices[i], corner
    bold: Style = {"ha": "left", "weight": "bold", "size": NAME}
    sizes = tuple(matrix.values.shape)
    middle, shape = top - 20, shape_width(matrix.axes, sizes)
    if plan.in_line:
        title = plan.titles[i][0]
        page.write(left, middle, title, **bold)
        left += text_width(title, NAME, "bold") + 10
    else:
        first = middle - 23 - TITLE * (len(plan.titles[i]) - 1)
        for n, line in enumerate(plan.titles[i]):
            page.write(left, first + TITLE * n, line, **bold)
    page.shape(left + shape / 2, middle, matrix.axes, sizes)


@styled
def draw_digits(
    page: Page,
    matrix: Matrix,
    box: Box,
    limits: tuple[float, float],
    size: int,
) -> None:
    """Draw coloured cells with a number in each, over what hatches some."""
    import seaborn as sns  # slow: imported when something is to be drawn

    kind, ax = KINDS[matrix.kind], page.axes(box)
    sns.heatmap(
        matrix.values.double().masked_fill(matrix.hidden, 0).numpy(),
        vmin=limits[0],
        vmax=limits[1],
        cmap=kind.scale(kind.light),
        cbar=False,
        annot=[list(map(with_minus, row)) for row in matrix.cells],
        fmt="",
        annot_kws={"color": INK[0], "size": size},
        linewidths=0.6,
        linecolor=EDGE[0],
        clip_on=False,
        ax=ax,
    )
    places = matrix.hidden.nonzero().tolist()
    page.hatch(((j, i, 1, 1) for i, j in places), ax)


def draw_image(
    page: Page, matrix: Matrix, box: Box, limits: tuple[float, float]
) -> None:
    """Draw a long table as an image: colours that let the page through, so
    that they do on a dark one, too."""
    left, top, wide, high = box
    kind = CENTRED if matrix.kind == "scores" else KINDS[matrix.kind]
    share = matrix.values.double() / limits[1]
    share = share.masked_fill(matrix.hidden, 0).nan_to_num().clamp(-1, 1)
    ends = torch.tensor([to_rgb(kind.light[0]), to_rgb(kind.light[-1])])
    colours = ends.double()[(share > 0).long()]
    rgba = torch.cat((colours, share.abs()[..., None]), -1)
    page.axes(box).imshow(
        (rgba * 255).round().byte().numpy(),
        interpolation="none",
        extent=(left, left + wide, top + high, top),
        aspect="auto",
    )
    page.add(Rectangle((left, top), wide, high, fill=False, ec=EDGE[0]))
    rows, columns = matrix.values.shape
    w, h = wide / columns, high / rows
    page.hatch(
        (left + w * start, top + h * i, w * (end - start), h)
        for i, start, end in runs(matrix.hidden)
    )


def runs(hidden: Tensor) -> list[tuple[int, int, int]]:
    """Find cells beside each other that are hidden: row, start and end."""
    edge = torch.zeros(len(hidden), 1, dtype=torch.long)
    change = torch.cat((edge, hidden.long(), edge), 1).diff(dim=1)
    starts, ends = (change == 1).nonzero(), (change == -1).nonzero()
    return [
        (i, start, end)
        for (i, start), (_, end) in zip(starts.tolist(), ends.tolist())
    ]


def draw_rows(page: Page, plan: Layout, matrix: Matrix, corner: Place) -> None:
    """Write the words of the rows, at the left."""
    (left, top), high = corner, plan.cell[1]
    for i in ticks(len(matrix.labels[0]), high, 12 + 4 * plan.is_image):
        word, y = matrix.labels[0][i], top + (i + 0.5) * high
        style = style_of(word) | {"ha": "right"}
        page.write(left - 6, y, shortened(word, LONGEST, size=SMALL), **style)


def draw_columns(
    page: Page, plan: Layout, matrix: Matrix, corner: Place
) -> None:
    """Write the words of the columns: turned, where they would meet."""
    (left, low), words, wide = corner, matrix.labels[1], plan.cell[0]
    if level := is_level(plan, words):
        place, room = (0.0, 10.0), longest(words) + 4 + 8 * plan.is_image
        turn: Style = {}
    else:
        place, room = (3.0, 6.0), 13.0
        turn = {"rotation": 60, "rotation_mode": "anchor", "va": "center"}
        turn["ha"] = "right"
    for i in ticks(len(words), wide, room):
        x = left + (i + 0.5) * wide + place[0]
        word = words[i] if level else shortened(words[i], LONGEST, size=SMALL)
        page.write(x, low + place[1], word, **style_of(words[i]) | turn)
