"""Pairs of numbers as arrows in a plane: hands of clocks, turned vectors."""

import itertools
import math
import sys
from collections.abc import Iterator
from typing import Any

import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Wedge
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import labels_for, number
from tformer_lite.drawing.surface.page import (
    NARROW,
    SMALL,
    WIDE,
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import DARK, EDGE, INK, KINDS, LINE
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["arrows"]

SCORES = KINDS["scores"]
# From dial to dial, at least and at most: of one hand, and of two.
PITCH = {1: (29, 56), 2: (116, 172)}
TIP_LONG = 8  # of an arrow
RADIUS, LINE_HIGH = 48, 14  # of a dial, at most; of a line of letters


def arrows(
    *points: Tensor,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw pairs of numbers as arrows, each in a circle: (T, 2) -> a picture.

    The first number of a pair goes to the right, the second up; the circles
    are as large as the longest arrow. With (R, T, 2) there are R rows of
    circles. Of two tensors, each circle shows an arrow of either: the angle
    between them has the colour of their dot product, which stands below.
    `rows` and `columns` label the circles; a label's further lines are
    small. `titles` replaces what you wrote as arguments. Raises ValueError
    for other shapes, and for other than one or two tensors.

    >>> arrows(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), titles=["hand"])
    hand (1, 2, 2): an arrow in each of 2 ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or ["hand", "other"][: len(points)]
    if len(points) not in PITCH or len(titles) != len(points):
        raise ValueError(
            f"{len(points)} tensors, {len(titles)} titles: give one tensor of "
            "arrows, or two to compare."
        )
    dials = Dials(titles, [torch.as_tensor(p) for p in points], rows, columns)
    figures = [draw_dials(dials, width) for width in (WIDE, NARROW)]
    dark = DARK | SCORES.counterparts()
    return Picture(figures[0], dials.text(), dark, figures[1])


class Dials:
    """Arrows in circles: `titles` of the tensors, `arrows` (N, R, T, 2), the
    `labels` of rows and columns, and if they are `pairs`, N being 2, their
    `scores` (R, T).

    Raises ValueError for what is no pair of numbers.
    """

    def __init__(
        self,
        titles: list[str],
        points: list[Tensor],
        rows: list[str] | None,
        columns: list[str] | None,
    ):
        for title, each in zip(titles, points):
            check_pairs(title, each, points[0])
        values = torch.stack(points).detach().cpu().double()
        self.titles = titles
        self.arrows = values[:, None] if values.ndim == 3 else values
        n, n_rows, n_columns, _ = self.arrows.shape
        given = [""] if rows is None and n_rows == 1 else rows
        self.labels = labels_of(given, n_rows), labels_of(columns, n_columns)
        self.longest = float(self.arrows.norm(dim=-1).max()) or 1.0
        self.pairs = n == 2
        self.scores = self.arrows.prod(dim=0).sum(-1)

    def text(self) -> str:
        """Say what the dials show: a paragraph of words, then numbers."""
        n_rows, n_columns = self.arrows.shape[1:3]
        count, what = n_rows * n_columns, "an arrow"
        if self.pairs:
            what = "two arrows, and the angle between them,"
        shape = tuple(self.arrows.shape[1:])
        say = f"{', '.join(self.titles)} {shape}: {what} in each of "
        say += f"{count} circle{'s' * (count > 1)}."
        paragraphs = [say, *map(self.numbers, range(n_rows))]
        return "\n\n".join(paragraphs)

    def numbers(self, row: int) -> str:
        """List the numbers of a row of circles, a line for each."""
        lines = [" ".join(self.labels[0][row])] * any(self.labels[0][row])
        for column, label in enumerate(self.labels[1]):
            pairs = self.arrows[:, row, column].tolist()
            ends = [
                f"{title} ({number(x)}, {number(y)})"
                for title, (x, y) in zip(self.titles, pairs)
            ]
            if self.pairs:
                ends.append(f"product {number(self.scores[row, column])}")
            lines.append(f"{', '.join(label)}: {'  '.join(ends)}")
        return "\n".join(lines)


def check_pairs(title: str, values: Tensor, first: Tensor) -> None:
    """Raise ValueError for what is no (T, 2) or (R, T, 2), or not shaped as
    the first."""
    shape = tuple(values.shape)
    if len(shape) not in (2, 3) or shape[-1] != 2 or not values.numel():
        raise ValueError(
            f"{title} has shape {shape}, and an arrow shows two numbers: "
            "choose two channels, such as q[:, :2]."
        )
    if values.shape != first.shape:
        raise ValueError(
            f"{title} has shape {shape}, the first {tuple(first.shape)}: "
            "each arrow needs its counterpart."
        )
    if values.is_complex() or not values.double().isfinite().all():
        raise ValueError(f"{title} is not real and finite everywhere.")


def labels_of(chosen: list[str] | None, size: int) -> list[list[str]]:
    """Split each label in its lines; the first may be empty."""
    if chosen is not None and len(chosen) != size:
        raise ValueError(f"{len(chosen)} labels for {size} circles.")
    chosen = labels_for(None, size) if chosen is None else chosen
    lines = [str(label).split("\n") for label in chosen]
    return [labels_for(each, len(each)) for each in lines]


def label_width(lines: list[str]) -> float:
    """How wide a label is, its first line being bold."""
    first, *others = lines
    widths = [text_width(line, SMALL) for line in others]
    return max([text_width(first, weight="bold"), *widths])


class Layout:
    """Where the circles stand on a page so wide: `left` of them the labels,
    `pitch` from one to the next, as many in a band as fit, and the bands
    below each other, each `high`."""

    def __init__(self, dials: Dials, width: float):
        n, n_rows, n_columns, _ = dials.arrows.shape
        least, most = map(float, PITCH[n])
        beside, above = (max(map(label_width, x)) for x in dials.labels)
        self.left = beside and beside + 10
        least = max(least, above + 6)
        most = max(most, least)
        room = width - self.left
        bands = math.ceil(n_columns / max(1, room // least))
        self.band = math.ceil(n_columns / bands)
        self.pitch = min(most, room / self.band)
        self.radius = min(RADIUS, self.pitch / 2 - 2 - 14 * (n - 1))
        self.head = LINE_HIGH * max(map(len, dials.labels[1])) + 12 * (n - 1)
        self.row = 2 * self.radius + 8 + 32 * (n - 1)
        self.high = self.head + n_rows * self.row + 2
        self.bands = bands

    def middle(self, row: int, column: int) -> Place:
        """Where the middle of a circle is."""
        band, at = divmod(column, self.band)
        x = self.left + (at + 0.5) * self.pitch
        y = band * self.high + self.head + row * self.row + self.radius + 4
        return x, y


@styled
def draw_dials(dials: Dials, width: float) -> Figure:
    """Draw every circle, and the labels beside and above."""
    at = Layout(dials, width)
    page = Page(width, at.bands * at.high)
    n_rows, n_columns = dials.arrows.shape[1:3]
    cells = list(itertools.product(range(n_rows), range(n_columns)))
    # As markers, and all arrows as one path: a tenth of the SVG.
    middles = list(zip(*(at.middle(*cell) for cell in cells)))
    circle: Style = {"ms": 2 * at.radius, "mfc": "none", "mec": EDGE[0]}
    page.ax.plot(*middles, "o", clip_on=False, **circle)
    for row, column in cells:
        x, y = at.middle(row, column)
        if column % at.band == 0:
            y -= LINE_HIGH * (len(dials.labels[0][row]) - 1) / 2
            write_lines(page, at.left - 8, y, dials.labels[0][row], ha="right")
        if row == 0:
            top = column // at.band * at.high + LINE_HIGH / 2
            write_lines(page, x, top, dials.labels[1][column])
        if dials.pairs:
            draw_pair(page, dials, (row, column), at)
    paths = [path for cell in cells for path in shafts(dials, cell, at)]
    path = Path.make_compound_path(*paths)
    page.add(PathPatch(path, fc=INK[0], lw=0, zorder=2))
    return page.figure


def shafts(dials: Dials, cell: tuple, at: Layout) -> Iterator[Path]:
    """Give the outline of each arrow in a circle."""
    x, y = at.middle(*cell)
    for right, up in ends(dials, cell, at):
        long = math.hypot(right, up)
        if long:
            neck = max(0, long - TIP_LONG)
            half = [(0, 0.8), (neck, 0.8), (neck, 2.8), (long, 0)]
            turn = Affine2D().rotate(math.atan2(-up, right)).translate(x, y)
            mirrored = [(along, -across) for along, across in half[-2::-1]]
            outline = Path([*half, *mirrored, half[0]], closed=True)
            yield turn.transform_path(outline)


def ends(dials: Dials, cell: tuple, at: Layout) -> list[Place]:
    """How far each arrow in a circle goes to the right, and up."""
    values = dials.arrows[(slice(None), *cell)]
    return (values / dials.longest * (at.radius - 1)).tolist()


def draw_pair(page: Page, dials: Dials, cell: tuple, at: Layout) -> None:
    """Name two arrows; draw their angle, and write their product below."""
    x, y = at.middle(*cell)
    at_tips: list[Place] = []
    for title, (right, up) in zip(dials.titles, ends(dials, cell, at)):
        far = 1 + 9 / max(1.0, math.hypot(right, up))
        place = x + right * far, y - up * far
        if any(math.dist(place, other) < 14 for other in at_tips):
            place = place[0] + 14, place[1]
        at_tips.append(place)
        page.write(*place, title, weight="bold")
    draw_angle(page, dials, cell, at)
    score = number(dials.scores[cell].item()).replace("-", "−")
    product = f"{' · '.join(dials.titles)} = {score}"
    page.write(x, y + at.radius + 24, product, weight="bold")


def draw_angle(page: Page, dials: Dials, cell: tuple, at: Layout) -> None:
    """Fill the angle between two arrows in the colour of their product."""
    limit = dials.scores.abs().max().item() or 1.0
    share = 0.5 + dials.scores[cell].item() / limit / 2
    fill = to_hex(SCORES.scale(SCORES.light)(share))
    # As seen: y goes down on the page.
    one, other = (
        math.degrees(math.atan2(-up, right))
        for right, up in dials.arrows[(slice(None), *cell)].tolist()
    )
    start, turn = one, (other - one) % 360
    if turn > 180:
        start, turn = other, 360 - turn
    wedge = Wedge(at.middle(*cell), at.radius * 0.45, start, start + turn)
    wedge.set(fc=fill, ec=LINE[0], lw=0.6)
    page.add(wedge)


def write_lines(
    page: Page, x: float, y: float, lines: list[str], **style: Any
) -> None:
    """Write a label: its first line bold, the others small."""
    first, *others = lines
    page.write(x, y, first, weight="bold", **style)
    for line in others:
        y += LINE_HIGH
        page.note(x, y, line, **style)
