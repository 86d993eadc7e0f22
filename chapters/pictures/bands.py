"""Bands of the poster: the thumbs of a side beside each other, in as many
rows as they need, and the ways between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from matplotlib.patches import Rectangle
from torch import Tensor

from pictures.thumbs import Thumb
from tformer_lite.drawing.diagram.here import shape_labels
from tformer_lite.drawing.surface.page import (
    NAME,
    SIZE,
    Box,
    Page,
    Style,
    shape_width,
    text_width,
)
from tformer_lite.drawing.surface.palette import HATCH, INK, LINE, MUTED, SHARE

LEFT, RIGHT, BAND, MIDDLE = 44, 1543, 318, 168  # of a band, in pixels
ROWS, HIGH, GAP = 12, 48, 12  # of a matrix that is drawn
WIDTHS = {"hidden": 130} | dict.fromkeys(
    ["q kᵀ ÷ √D", "+ mask", "softmax"], HIGH
)
TINY, DEEP = 9, 36  # letters of what is counted; below them, a way


@dataclass(eq=False)
class Spot:
    """Where a thumb is drawn: its left edge, its width, and how far down the
    middle of its band is."""

    thumb: Thumb
    left: float
    wide: float
    middle: float

    @property
    def centre(self) -> float:
        """How far from the left its middle is."""
        return self.left + self.wide / 2

    @property
    def right(self) -> float:
        """How far from the left it ends."""
        return self.left + self.wide

    @property
    def top(self) -> float:
        """How far down its matrices begin."""
        many = max(1, len(self.thumb.matrices))
        return self.middle - (many * (HIGH + GAP) - GAP) / 2

    @property
    def bottom(self) -> float:
        """How far down they end."""
        return 2 * self.middle - self.top


Band = list[Spot]


def placed(thumbs: Sequence[Thumb], top: float) -> list[Band]:
    """Put thumbs in bands, from some height on. A sublayer is not parted; a
    further band begins with what the one before ended with."""
    bands: list[Band] = [[]]
    for _, group in groupby(thumbs, key=lambda thumb: thumb.sublayer):
        layer = list(group)
        x = bands[-1][-1].right if bands[-1] else LEFT
        if x + sum(map(room, layer)) > RIGHT:
            layer.insert(0, bands[-1][-1].thumb)
            x = LEFT
            bands.append([])
        for thumb in layer:
            wide = width(thumb)
            y = top + BAND * (len(bands) - 1) + MIDDLE
            bands[-1].append(Spot(thumb, x + room(thumb) - wide, wide, y))
            x += room(thumb)
    return bands


def room(thumb: Thumb) -> float:
    """How much room a thumb needs, with what is before it."""
    texts = [text_width(text, TINY) for text in counted(thumb)]
    texts += [shape_width(*shape_labels(thumb.shape)) + 4]
    more = 34 if thumb.label == "q, k, v" else 22
    return max(width(thumb) + more, *(text + 6 for text in texts))


def width(thumb: Thumb) -> float:
    """How wide a tensor is drawn; ids as their words need."""
    if thumb.words:
        columns = zip(*thumb.words)
        return 10 + sum(max(map(text_width, texts)) for texts in columns)
    return WIDTHS.get(thumb.label, 72)


def counted(thumb: Thumb) -> list[str]:
    """Say what is learned and computed to make a tensor."""
    numbers = zip(thumb.cost.tolist(), ("parameters", "FLOPs"))
    return [f"{number:,} {what}" for number, what in numbers if number]


def draw_band(page: Page, band: Band, bound: float) -> None:
    """Draw a band's thumbs, and the arrows between them."""
    for spot in band:
        draw_thumb(page, spot, bound)
    for one, other in pairwise(band):
        to = other.left - (16 if other.thumb.label == "q, k, v" else 2)
        page.arrow((one.right + 2, one.middle), (to, one.middle))
    for _, group in groupby(band[1:], key=lambda spot: spot.thumb.sublayer):
        layer = list(group)
        sums = [spot for spot in layer if spot.thumb.label == "sum"]
        if sums and layer[0] is not sums[0]:
            draw_residual(page, band[band.index(layer[0]) - 1], layer, sums[0])
    heads = [spot for spot in band if spot.thumb.label == "q, k, v"]
    mixed = [spot for spot in band if spot.thumb.label == "weights @ v"]
    for one, other in zip(heads, mixed):
        y, low = one.bottom - HIGH / 2, one.bottom + DEEP
        goal = other.centre, other.bottom + DEEP - 8
        ways = (one.right + 10, y), (one.right + 10, low), (goal[0], low), goal
        page.arrow((one.right + 2, y), *ways)


def draw_thumb(page: Page, spot: Spot, bound: float) -> None:
    """Draw a tensor: its name and shape, its matrices, and what it costs."""
    thumb, x = spot.thumb, spot.centre
    high = 14 * min(len(thumb.words), ROWS) / 2
    top = spot.middle - high if high else spot.top
    page.write(x, top - 42, thumb.label, size=NAME, weight="bold")
    page.shape(x, top - 20, *shape_labels(thumb.shape))
    for i, (word, number) in enumerate(thumb.words[:ROWS]):
        colour = MUTED[0] if word == "[PAD]" else INK[0]
        y = top + 14 * i + 7
        page.write(spot.left, y, word, ha="left", color=colour)
        page.note(spot.right, y, number, ha="right", size=SIZE)
    letters = "qkv" if thumb.label == "q, k, v" else ""
    for i, matrix in enumerate(thumb.matrices):
        y = spot.top + i * (HIGH + GAP)
        few = matrix[:ROWS, : shown(matrix, spot.wide)].float()
        limits = (0.0, 1.0) if thumb.kind is SHARE else (-bound, bound)
        box = spot.left, y, spot.wide, HIGH
        page.cells(box, few, thumb.kind, limits)
        draw_edges(page, box, few.shape[1], matrix.shape[1], thumb.heads)
        for letter in letters[i : i + 1]:
            page.write(spot.left - 9, y + HIGH / 2, letter, weight="bold")
    for i, text in enumerate(counted(thumb)):
        page.note(x, spot.bottom + 11 + 12 * i, text, size=TINY)


def shown(matrix: Tensor, wide: float) -> int:
    """How many columns of a matrix are drawn: all, or as many as one sees."""
    columns = matrix.shape[1]
    return columns if columns <= wide / 2.7 else max(ROWS, round(wide / 6))


def draw_edges(
    page: Page, box: Box, columns: int, of: int, heads: int
) -> None:
    """Draw the edges of a matrix, and lines between heads; dots, where not
    all columns are drawn."""
    left, top, wide, high = box
    style: Style = {"fill": False, "ec": LINE[0], "lw": 0.8, "zorder": 3}
    page.add(Rectangle((left, top), wide, high, **style))
    line: Style = {"arrowstyle": "-", "color": INK[0], "lw": 1.4, "zorder": 3}
    for place in range(of // heads, columns, of // heads):
        x = left + wide * place / columns
        page.arrow((x, top), (x, top + high), **line)
    if columns < of:
        page.note(left + wide + 1, top + 5, "…", ha="left")


def draw_residual(page: Page, start: Spot, layer: Band, end: Spot) -> None:
    """Draw the way around a sublayer, above all that is written there."""
    y = min(spot.top for spot in layer) - 62
    rise, fall = start.top - 54, end.top - 54
    places = (start.centre, rise), (start.centre, y), (end.centre, y)
    page.arrow(*places, (end.centre, fall), color=HATCH[0], lw=1.6)
