"""Where we are in a model, in a picture small enough for every chapter: the
sides of the model as boxes in rows."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.patches import Circle

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Shape, shape_text
from tformer_lite.drawing.diagram.anatomy import Part, Side, sides_of
from tformer_lite.drawing.surface import palette
from tformer_lite.drawing.surface.matrix import check_known
from tformer_lite.drawing.surface.page import (
    PANEL,
    Box,
    Page,
    Style,
    shape_width,
    text_width,
)
from tformer_lite.drawing.surface.picture import Picture

PLACES_HERE = [
    "ids", "embedding", "positions", "self_attention", "cross_attention",
    "feed_forward", "residual", "norm", "head", "encoder", "decoder", "model",
]  # fmt: skip
Sides = Sequence[Side]
SHORT_LABELS = {
    "positions": "place",
    "self-attention": "self-\natt.",
    "cross-attention": "cross-\natt.",
    "feed-forward": "feed-\nfwd",
}
# Of a box, a shape, a row, a name.
BOX, SHAPE_ROW, STEP, NAME_ROW = 32, 30, 54, 12
BROAD, LABEL_ROW = 589, 13  # of a broad page: 736 when enlarged; of a line
SUM = 5.5  # radius of a sum
FREE: Style = {"fc": palette.PAPER[0], "ec": palette.HATCH[0], "lw": 0.8}
HERE: Style = {"fc": palette.HIGHLIGHT[0], "ec": palette.RIM[0], "lw": 2}
BLOCK_EDGE: Style = {"fc": "none", "ec": palette.EDGE[0], "lw": 0.8}


def where(seen: Trace, part: str) -> Picture:
    """Draw the parts of a traced Transformer in a strip, with one of them
    marked: where we are.

    Parts are ids, embedding, positions, self_attention, cross_attention,
    feed_forward, residual, norm, head; encoder, decoder and model are several
    of them. What is there twice is marked where it runs first. Every shape is
    the trace's. Raises ValueError for another part, for one that this model
    lacks, and for what is no Transformer.

    >>> where(running_trace(), "self_attention")
    You are here: self-attention, in the encoder. ...
    """
    check_known("part", part, PLACES_HERE)
    sides = sides_of(seen)
    if not sides:
        raise ValueError(
            "the trace has no block with attention: trace a Transformer, such "
            "as EncoderDecoder(tiny_translator)."
        )
    names = [p.name for side in sides for p in side.parts]
    names += [*(side.name for side in sides), "model"]
    if part not in names:
        there = ", ".join(name for name in PLACES_HERE if name in names)
        raise ValueError(f"this model has no {part}: it has {there}.")
    small, large = (draw_sides(sides, part, x).figure for x in (PANEL, BROAD))
    return Picture([small], sides_text(sides, part), palette.DARK, broad=large)


def sides_text(sides: Sides, name: str) -> str:
    """Say where a part is, and what it gives; then list all."""
    places = [(s, p) for s in sides for p in s.parts if p.name == name][:1]
    said = f"the {'whole ' * (name == 'model')}{name}."
    for side, part in places:
        label = name.replace("_", "-") if name != "ids" else "ids"
        gives = measured_shape(part.shape)
        said = f"{label}, in the {side.name}. It gives {gives}."
    lit = [part for _, part in places]
    lines = [f"{side_title(side)}: {chain(side, lit)}" for side in sides]
    return "\n\n".join([f"You are here: {said}", "\n".join(lines)])


def side_title(side: Side) -> str:
    """Name a side, and say how many blocks it has: encoder × 6."""
    return f"{side.name} × {side.n_blocks}"


def chain(side: Side, lit: Sequence[Part]) -> str:
    """List the parts of a side in their order, those that are lit in
    brackets."""
    words = (f"[{p.label}]" if p in lit else p.label for p in side.parts)
    return " → ".join(words)


def measured_shape(shape: Shape) -> str:
    """Write a named and measured shape: (B, S) = (2, 8)."""
    return f"{shape_text(shape)} = {tuple(axis.size for axis in shape)}"


class SideRow:
    """The boxes of a side on a page, from some height on; `above` says where
    their shapes stand."""

    def __init__(self, page: Page, side: Side, top: float, above: bool):
        self.page, self.side, self.above = page, side, above
        self.middle, x = top + BOX / 2, 3.0
        gap, edge = (3, 2.5) if page.width == PANEL else (9, 8)
        self.margin = gap / 2  # around a block
        self.boxes: dict[Part, Box] = {}
        self.taken: list[tuple[float, float]] = []  # by shapes
        for part in side.parts:
            wide = max(map(text_width, self.lines(part))) + 2 * edge
            wide = 2 * SUM if part.name == "residual" else wide
            self.boxes[part] = x, top, wide, BOX
            x += wide + gap
        self.end = x - gap

    def around(self, path: str) -> Box:
        """The box around all that is in a stack or in a block."""
        inside = [b for p, b in self.boxes.items() if p.path.startswith(path)]
        (left, top, *_), (last, _, wide, _) = inside[0], inside[-1]
        out = self.margin
        return left - out, top - 3, last + wide + 2 * out - left, BOX + 6

    def centre(self, part: Part) -> float:
        """How far from the left the middle of a box is."""
        left, _, wide, _ = self.boxes[part]
        return left + wide / 2

    def lines(self, part: Part) -> list[str]:
        """Write a part's label in its lines, shorter where it has no room."""
        short = SHORT_LABELS if self.page.width == PANEL else {}
        label = short.get(part.label, part.label.replace("-", "-\n"))
        return label.split("\n")


def draw_sides(sides: Sides, name: str, wide: float) -> Page:
    """Draw a row of boxes for each side, with the part of a name lit and its
    shape."""
    first = NAME_ROW + (SHAPE_ROW if sides[1:] else 4)
    page = Page(wide, first + STEP * (len(sides) - 1) + BOX + SHAPE_ROW)
    rows = [
        SideRow(page, side, first + STEP * i, above=not i and bool(sides[1:]))
        for i, side in enumerate(sides)
    ]
    parts = [part for side in sides for part in side.parts]
    lit = [part for part in parts if part.name == name][:1]
    for row in rows:
        draw_side(row, lit, name)
        for part in (*lit, *row.side.parts):
            if part in row.boxes and (part in lit or part.name == "head"):
                draw_shape(row, row.centre(part), part.shape)
    for encoder, decoder in pairwise(rows):
        draw_memory(encoder, decoder)
    return page


def draw_side(row: SideRow, lit: Sequence[Part], name: str) -> None:
    """Draw the boxes of a side: one lit, or all of what has a name."""
    page, side = row.page, row.side
    page.box(row.around(side.block), **BLOCK_EDGE)
    if name in (side.name, "model") and not lit:
        page.box(row.around(side.stack if name == side.name else ""), **HERE)
    for part, box in row.boxes.items():
        style = HERE if part in lit else FREE
        x, lines = row.centre(part), row.lines(part)
        if part.name == "residual":
            page.add(Circle((x, row.middle), SUM, **style))
        else:
            page.box(box, **style)
        for i, line in enumerate(lines):
            y = row.middle + LABEL_ROW * (i + 0.5 - len(lines) / 2)
            page.write(x, y, line)
    for (left, _, wide, _), (to, *_) in pairwise(row.boxes.values()):
        ends = (left + wide, row.middle), (to, row.middle)
        page.arrow(*ends, arrowstyle="-")
    many = f" × {side.n_blocks}" if side.n_blocks > 1 else ""
    y = row.middle - BOX / 2 - (SHAPE_ROW + 6 if row.above else 9)
    named: Style = {"color": palette.INK[0]} if name == side.name else {}
    page.note(0, y, side.name + many, ha="left", weight="bold", **named)


def draw_shape(row: SideRow, x: float, shape: Shape) -> None:
    """Write a shape above or below a row, centred on x, or a bit to the right
    of it; nothing where there is no room."""
    half, y = shape_width(*shape_labels(shape)) / 2, BOX / 2 + SHAPE_ROW - 14
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
    wide, y = text_width("memory"), encoder.middle
    start = encoder.end + 12
    page.arrow((encoder.end, y), (start, y))
    page.write(start + 3, y, "memory", ha="left")
    draw_shape(encoder, start + wide / 2, last.shape)
    if to:
        x, low = start + 3 + wide / 2, y + STEP / 2 - 1
        down = (decoder.centre(to), low)
        goal = decoder.centre(to), decoder.middle - BOX / 2
        page.arrow((x, y + 9), (x, low), down, goal)


def shape_labels(shape: Shape) -> tuple[list[str], list[int]]:
    """Give the names of a shape, as they are written, and its sizes."""
    return [str(axis) for axis in shape], [axis.size for axis in shape]
