"""Strips: a side of the model as boxes in a row, and an attention as a line
with stops. Each is drawn on a page from some height on."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from matplotlib.patches import Circle

from shapewatch.tracing.axes.names import Shape
from tformer_lite.drawing.diagram.anatomy import Part, Side
from tformer_lite.drawing.surface.page import (
    NAME,
    SMALL,
    WIDE,
    Box,
    Page,
    Place,
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
BOX, SHAPE, ROOM, NAMED = 20, 30, 20, 12  # of a box, a shape, between rows
SUM = 5.5  # radius of a sum
FREE: Style = {"fc": PAPER[0], "ec": HATCH[0], "lw": 0.8}
HERE: Style = {"fc": LIT[0], "ec": RIM[0], "lw": 2}
BLOCK: Style = {"fc": "none", "ec": EDGE[0], "lw": 0.8}


class Row:
    """The boxes of a side on a page, from some height on; `above` says where
    their shapes stand."""

    def __init__(self, page: Page, side: Side, top: float, above: bool):
        self.page, self.side, self.above = page, side, above
        self.narrow = page.width < WIDE
        look = (9, 3, 4, 3) if self.narrow else (SMALL, 5, 11, 56)
        self.size, edge, self.gap, left = look
        self.weight = "normal" if self.narrow else "bold"  # of what is lit
        self.middle = top + BOX / 2
        self.labels = {part: part.label for part in side.parts}
        x = float(left)
        self.boxes: dict[Part, Box] = {}
        self.taken: list[tuple[float, float]] = []  # by shapes
        for part, label in self.labels.items():
            if self.narrow:
                self.labels[part] = label = SHORT.get(label, label)
            wide = text_width(label, self.size, self.weight) + 2 * edge
            wide = 2 * SUM if part.name == "residual" else wide
            self.boxes[part] = x, top, wide, BOX
            x += wide + self.gap
        self.end = x - self.gap

    def around(self, path: str) -> Box:
        """The box around all that is in a stack or in a block."""
        inside = [b for p, b in self.boxes.items() if p.path.startswith(path)]
        (left, top, *_), (last, _, wide, _) = inside[0], inside[-1]
        edge = self.gap / 3
        return left - edge, top - 3, last + wide + 2 * edge - left, BOX + 6

    def centre(self, part: Part) -> float:
        """How far from the left the middle of a box is."""
        left, _, wide, _ = self.boxes[part]
        return left + wide / 2


def rows_height(width: float, sides: Sequence[Side]) -> float:
    """How high the sides of a model are drawn."""
    return tops(width, sides)[-1] + BOX + SHAPE


def tops(width: float, sides: Sequence[Side]) -> list[float]:
    """How far down the boxes of each side begin."""
    name = NAMED if width < WIDE else 0
    first = name + (SHAPE if sides[1:] else 4)
    step = BOX + ROOM + (2 if width < WIDE else 0)
    return [first + i * step for i in range(len(sides))]


def draw_rows(page: Page, sides: Sequence[Side], name: str = "") -> None:
    """Draw a row of boxes for each side, with the part of a name lit and its
    shape; without a name, with a shape wherever it changes."""
    both = len(sides) > 1
    rows = [
        Row(page, side, top, above=both and side is sides[0])
        for side, top in zip(sides, tops(page.width, sides))
    ]
    parts = [part for side in sides for part in side.parts]
    lit = [part for part in parts if part.name == name][:1]
    for row in rows:
        draw_row(row, lit, name)
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


def draw_row(row: Row, lit: Sequence[Part], name: str) -> None:
    """Draw the boxes of a side: one lit, or all of what has a name."""
    page, side = row.page, row.side
    page.box(row.around(side.block), **BLOCK)
    if name in (side.name, "model") and not lit:
        page.box(row.around(side.stack if name == side.name else ""), **HERE)
    for part, label in row.labels.items():
        style = HERE if part in lit else FREE
        place = row.centre(part), row.middle
        if part.name == "residual":
            page.add(Circle(place, SUM, **style))
        else:
            page.box(row.boxes[part], **style)
        weight = row.weight if part in lit else "normal"
        page.write(*place, label, size=row.size, weight=weight)
    style = {"arrowstyle": "-"} if row.narrow else {}
    for (left, _, wide, _), (to, *_) in pairwise(row.boxes.values()):
        page.arrow((left + wide, row.middle), (to, row.middle), **style)
    draw_name(row, name == side.name)


def draw_name(row: Row, lit: bool) -> None:
    """Write the name of a side beside its boxes; above them on a phone."""
    many = f"× {row.side.n_blocks}" if row.side.n_blocks > 1 else ""
    lines = [row.side.name, many] if not row.narrow else []
    y = row.middle - 7 * bool(many)
    if row.narrow:
        lines = [f"{row.side.name} {many}"]
        y = row.middle - BOX / 2 - (SHAPE + 6 if row.above else 9)
    for line in filter(None, lines):
        style: Style = {"ha": "left", "weight": "bold"}
        row.page.note(
            0, y, line, **style | {"color": INK[0]} if lit else style
        )
        y += 14


def draw_shape(row: Row, x: float, shape: Shape) -> None:
    """Write a shape above or below a row, centred on x, or a bit to the right
    of it; nothing where there is no room."""
    half, y = shape_width(*written(shape)) / 2, BOX / 2 + SHAPE - 14
    for start in x - half, x - half + BOX:
        start = max(0, min(start, row.page.width - 2 * half - 2))
        end = start + 2 * half
        if all(end + 6 < a or b + 6 < start for a, b in row.taken):
            row.taken.append((start, end))
            y = row.middle + (-y if row.above else y)
            row.page.shape(start + half, y, *written(shape))
            return


def draw_memory(encoder: Row, decoder: Row) -> None:
    """Draw the way of memory, from an encoder to a cross-attention."""
    page, last = encoder.page, encoder.side.parts[-1]
    to = decoder.side.part("cross_attention")
    wide, y = text_width("memory", SMALL), encoder.middle
    start = encoder.end + encoder.gap
    page.arrow((encoder.end, y), (start, y))
    page.write(start + 3, y, "memory", ha="left", size=SMALL)
    half = shape_width(*written(last.shape)) / 2
    if encoder.narrow:
        draw_shape(encoder, start + wide / 2, last.shape)
    else:
        page.shape(start + wide + 12 + half, y, *written(last.shape))
    if to:
        x, low = start + 3 + wide / 2, y + (BOX + ROOM) / 2
        down = (decoder.centre(to), low)
        goal = decoder.centre(to), decoder.middle - BOX / 2
        page.arrow((x, y + 9), (x, low), down, goal)


def line_height(width: float, stops: Sequence[Part]) -> float:
    """How high an attention is drawn."""
    return TITLE + LINE * ceil(len(stops) / per_row(stops, width))


def draw_line(
    page: Page, top: float, title: str, stops: Sequence[Part], lit: int
) -> None:
    """Draw an attention as a line with stops, those up to `lit` as done: in
    several rows, where the page is narrow."""
    page.note(0, top + 8, title, ha="left", weight="bold")
    many = per_row(stops, page.width)
    step = page.width / many
    for first in range(0, len(stops), many):
        row, y = stops[first : first + many], top + TITLE + 30
        more = first + many < len(stops)
        start = 0 if first else step / 2
        end = page.width if more else (len(row) - 0.5) * step
        here = end if lit >= first + many else (lit - first + 0.5) * step
        for colour, to in (EDGE[0], end), (RIM[0], here):
            style: Style = {"arrowstyle": "-", "lw": 3, "color": colour}
            if to > start:
                page.arrow((start, y), (to, y), zorder=1, **style)
        for i, part in enumerate(row):
            place = (i + 0.5) * step, y
            draw_stop(page, place, part, first + i - lit)
        top += LINE


def draw_stop(page: Page, place: Place, part: Part, ahead: int) -> None:
    """Draw a stop: done, here, or so many stops `ahead`."""
    x, y = place
    style: Style = {"fc": RIM[0] if ahead <= 0 else PAPER[0], "lw": 1.2}
    style["ec"] = RIM[0] if ahead <= 0 else HATCH[0]
    page.add(Circle(place, 8 if ahead == 0 else 4.5, zorder=2, **style))
    here: Style = {"weight": "bold", "size": NAME + 1} if ahead == 0 else {}
    page.write(x, y - 19, part.label, **here)
    page.shape(x, y + 26, *written(part.shape))


def per_row(stops: Sequence[Part], width: float) -> int:
    """How many stops a row has room for, as their shapes are."""
    widest = max(shape_width(*written(part.shape)) for part in stops)
    most = max(1, width // (widest + 6))
    return ceil(len(stops) / ceil(len(stops) / most))


def written(shape: Shape) -> tuple[list[str], list[int]]:
    """Give the names of a shape, as they are written, and its sizes."""
    return [str(axis) for axis in shape], [axis.size for axis in shape]
