"""Strips: the sides of a model as boxes in rows, and an attention as a line
with stops, as narrow as a phone's column."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from matplotlib.patches import Circle

from shapewatch.tracing.axes.names import Shape
from tformer_lite.drawing.diagram.anatomy import Part, Side
from tformer_lite.drawing.surface.page import (
    HALF,
    NAME,
    PANEL,
    SMALL,
    Box,
    Page,
    Style,
    shape_width,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    EDGE,
    HATCH,
    INK,
    LIT,
    PAPER,
    RIM,
)

SHORT = {
    "positions": "place",
    "self-attention": "self-att.",
    "cross-attention": "cross-att.",
    "feed-forward": "feed-fwd",
}
TITLE, LINE = 16, 72  # heights: of the title of a line, and of a line
BOX, SHAPE, STEP, NAMED = 20, 30, 42, 12  # of a box, a shape, a row, a name
GAP, EDGE_WIDTH, LETTERS = 3.5, 3, 9  # between boxes, in them
SUM = 5.5  # radius of a sum
FREE: Style = {"fc": PAPER[0], "ec": HATCH[0], "lw": 0.8}
HERE: Style = {"fc": LIT[0], "ec": RIM[0], "lw": 2}
BLOCK: Style = {"fc": "none", "ec": EDGE[0], "lw": 0.8}


class SideRow:
    """The boxes of a side on a page, from some height on; `above` says where
    their shapes stand."""

    def __init__(self, page: Page, side: Side, top: float, above: bool):
        self.page, self.side, self.above = page, side, above
        self.middle, x = top + BOX / 2, 3.0
        self.boxes: dict[Part, Box] = {}
        self.taken: list[tuple[float, float]] = []  # by shapes
        for part in side.parts:
            wide = text_width(short_label(part), LETTERS) + 2 * EDGE_WIDTH
            wide = 2 * SUM if part.name == "residual" else wide
            self.boxes[part] = x, top, wide, BOX
            x += wide + GAP
        self.end = x - GAP

    def around(self, path: str) -> Box:
        """The box around all that is in a stack or in a block."""
        inside = [b for p, b in self.boxes.items() if p.path.startswith(path)]
        (left, top, *_), (last, _, wide, _) = inside[0], inside[-1]
        return left - 1.5, top - 3, last + wide + 3 - left, BOX + 6

    def centre(self, part: Part) -> float:
        """How far from the left the middle of a box is."""
        left, _, wide, _ = self.boxes[part]
        return left + wide / 2


def short_label(part: Part) -> str:
    """Write a part's label, or a shorter one."""
    return SHORT.get(part.label, part.label)


def draw_sides(sides: Sequence[Side], name: str = "") -> Page:
    """Draw a row of boxes for each side, with the part of a name lit and its
    shape; without a name, with a shape wherever it changes."""
    first = NAMED + (SHAPE if sides[1:] else 4)
    page = Page(PANEL, first + STEP * (len(sides) - 1) + BOX + SHAPE)
    rows = [
        SideRow(page, side, first + STEP * i, above=not i and bool(sides[1:]))
        for i, side in enumerate(sides)
    ]
    parts = [part for side in sides for part in side.parts]
    lit = [part for part in parts if part.name == name][:1]
    for row in rows:
        draw_side(row, lit, name)
        before = None
        for part in (*lit, *row.side.parts):
            new = not name and part.shape != before
            if part in row.boxes and (
                new or part in lit or part.name == "head"
            ):
                draw_shape(row, row.centre(part), part.shape)
            before = part.shape
    for encoder, decoder in pairwise(rows):
        draw_memory(encoder, decoder)
    return page


def draw_side(row: SideRow, lit: Sequence[Part], name: str) -> None:
    """Draw the boxes of a side: one lit, or all of what has a name."""
    page, side = row.page, row.side
    page.box(row.around(side.block), **BLOCK)
    if name in (side.name, "model") and not lit:
        page.box(row.around(side.stack if name == side.name else ""), **HERE)
    for part, box in row.boxes.items():
        style = HERE if part in lit else FREE
        place = row.centre(part), row.middle
        if part.name == "residual":
            page.add(Circle(place, SUM, **style))
        else:
            page.box(box, **style)
        page.write(*place, short_label(part), size=LETTERS)
    for (left, _, wide, _), (to, *_) in pairwise(row.boxes.values()):
        ends = (left + wide, row.middle), (to, row.middle)
        page.arrow(*ends, arrowstyle="-")
    many = f" × {side.n_blocks}" if side.n_blocks > 1 else ""
    y = row.middle - BOX / 2 - (SHAPE + 6 if row.above else 9)
    named: Style = {"color": INK[0]} if name == side.name else {}
    page.note(0, y, side.name + many, ha="left", weight="bold", **named)


def draw_shape(row: SideRow, x: float, shape: Shape) -> None:
    """Write a shape above or below a row, centred on x, or a bit to the right
    of it; nothing where there is no room."""
    half, y = shape_width(*shape_labels(shape)) / 2, BOX / 2 + SHAPE - 14
    for start in x - half, x - half + BOX:
        start = max(0, min(start, row.page.width - 2 * half - 2))
        end = start + 2 * half
        if all(end + 6 < a or b + 6 < start for a, b in row.taken):
            row.taken.append((start, end))
            y = row.middle + (-y if row.above else y)
            row.page.shape(start + half, y, *shape_labels(shape))
            return


def draw_memory(encoder: SideRow, decoder: SideRow) -> None:
    """Draw the way of memory, from an encoder to a cross-attention."""
    page, last = encoder.page, encoder.side.parts[-1]
    to = decoder.side.part("cross_attention")
    wide, y = text_width("memory", SMALL), encoder.middle
    start = encoder.end + 12
    page.arrow((encoder.end, y), (start, y))
    page.write(start + 3, y, "memory", ha="left", size=SMALL)
    draw_shape(encoder, start + wide / 2, last.shape)
    if to:
        x, low = start + 3 + wide / 2, y + STEP / 2 - 1
        down = (decoder.centre(to), low)
        goal = decoder.centre(to), decoder.middle - BOX / 2
        page.arrow((x, y + 9), (x, low), down, goal)


def draw_stops(title: str, stops: Sequence[Part], lit: int) -> list[Page]:
    """Draw an attention as a line with stops, those up to `lit` as done, on
    as many panels as their shapes need."""
    widest = max(shape_width(*shape_labels(part.shape)) for part in stops)
    most = max(1, HALF // (widest + 6))
    many = ceil(len(stops) / ceil(len(stops) / most))
    step, pages = HALF / many, list[Page]()
    for first in range(0, len(stops), many):
        page, row = Page(HALF, TITLE + LINE), stops[first : first + many]
        if not first:
            page.note(0, 8, title, ha="left", weight="bold")
        more = first + many < len(stops)
        start = 0 if first else step / 2
        end = HALF if more else (len(row) - 0.5) * step
        here = end if lit >= first + many else (lit - first + 0.5) * step
        for colour, to in (EDGE[0], end), (RIM[0], here):
            style: Style = {"arrowstyle": "-", "lw": 3, "color": colour}
            if to > start:
                line = (start, TITLE + 30), (to, TITLE + 30)
                page.arrow(*line, zorder=1, **style)
        for i, part in enumerate(row):
            draw_stop(page, (i + 0.5) * step, part, first + i - lit)
        pages.append(page)
    return pages


def draw_stop(page: Page, x: float, part: Part, ahead: int) -> None:
    """Draw a stop: done, here, or so many stops `ahead`."""
    y = TITLE + 30
    style: Style = {"fc": RIM[0] if ahead <= 0 else PAPER[0], "lw": 1.2}
    style["ec"] = RIM[0] if ahead <= 0 else HATCH[0]
    page.add(Circle((x, y), 8 if ahead == 0 else 4.5, zorder=2, **style))
    here: Style = {"weight": "bold", "size": NAME + 1} if ahead == 0 else {}
    page.write(x, y - 19, part.label, **here)
    page.shape(x, y + 26, *shape_labels(part.shape))


def shape_labels(shape: Shape) -> tuple[list[str], list[int]]:
    """Give the names of a shape, as they are written, and its sizes."""
    return [str(axis) for axis in shape], [axis.size for axis in shape]
