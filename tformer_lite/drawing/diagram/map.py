"""Map of the model: the whole of it, and where in it we are.

Places are in points from the top left corner of the page.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from tformer_lite.drawing.diagram import anatomy
from tformer_lite.drawing.diagram.anatomy import Part, Parts
from tformer_lite.drawing.matrix import check_known
from tformer_lite.drawing.palette import (
    AXES,
    DARK,
    EDGE,
    HATCH,
    INK,
    LINE,
    LIT,
    PAPER,
    RIM,
)
from tformer_lite.drawing.picture import Picture, styled
from tformer_lite.tracing import Trace
from tformer_lite.tracing.axes.names import Shape

PARTS = [
    "ids", "embedding", "positions", "projections", "heads", "scores", "mask",
    "softmax", "output", "feed_forward", "residual", "norm", "encoder",
    "self_attention", "cross_attention", "decoder", "head",
]  # fmt: skip
SIZE, ROW = 9, 13  # of every letter; from line to line
GAP = 3  # between the axes of a shape
# How wide and high a box is, from one to the next, and what the frame of a
# block takes more above it and below it.
WIDE, BOX, STEP, ABOVE, BELOW = 114, 17, 40, 23, 7
# Between the columns; at the edges; and inside, at the sides of a close-up.
GUTTER, BORDER, INSET = 20, 2, 8
FRAME = ("#f6f8fa", "#1b2129")
Style = dict[str, Any]  # as matplotlib calls it
Rectangle = tuple[float, float, float, float]  # left, top, width, height
PLAIN: Style = {"fc": PAPER[0], "ec": HATCH[0], "lw": 0.8}
AROUND: Style = {"fc": FRAME[0], "ec": EDGE[0], "lw": 0.8}
CURRENT: Style = {"fc": LIT[0], "ec": RIM[0], "lw": 2.2}
ENLARGED: Style = {"fc": PAPER[0], "ec": RIM[0], "lw": 1, "ls": "dashed"}
ROUND = "round, pad=0, rounding_size=4"
TIP = "-|>, head_length=4.5, head_width=2.2"
HERE = "◄ here"
DETAILS = {"scores": ": q @ kᵀ / √D", "output": " projection"}


def where(seen: Trace, part: str) -> Picture:
    """Draw a traced EncoderDecoder, with `part` marked: where we are.

    The parts: ids, embedding, positions, projections, heads, scores, mask,
    softmax, output, feed_forward, residual, norm, encoder, self_attention,
    cross_attention, decoder, head. What is there twice is marked where it
    runs first; an attention is drawn again, larger, when the part is in it
    or is it. Every shape is the trace's, and one that it does not have is
    left out. Raises ValueError for another part, for one that this model
    lacks, and for another kind of model.

    >>> where(running_trace(), "scores")
    Where we are: scores, inside the encoder's self-attention. ...
    """
    check_known("part", part, PARTS)
    sides = [anatomy.side_of(seen, name) for name in anatomy.SIDES]
    path = anatomy.path_to(part, sides)
    if not path:
        raise ValueError(f"this model has no {part}.")
    figure, text = draw_map(sides, path), anatomy.description(sides, path)
    return Picture(figure, text, DARK | dict([FRAME]))


@dataclass(frozen=True)
class Column:
    """The parts of a side or of an attention, one below the other: where the
    first arrow between them is, and how far down the first box; how wide a
    lane of the boxes is, and how far in it its arrow; and on which side of
    an arrow its shape is (1: right, -1: left)."""

    whole: Part
    x: float
    top: float
    lane: float = WIDE
    lead: float = WIDE / 2
    sign: int = 1

    @cached_property
    def tops(self) -> list[float]:
        """How far down each box starts, and the last arrow ends: the frame
        of a block takes room where one enters it, and leaves it."""
        inner = [part.sublayer is not None for part in self.whole.parts]
        pairs = pairwise([*inner, False])
        more = (ABOVE * (a < b) + BELOW * (a > b) for a, b in pairs)
        return list(accumulate((STEP + m for m in more), initial=self.top))


@styled
def draw_map(sides: Parts, path: Parts) -> Figure:
    """Draw both sides, the letters, and the attention on the path."""
    wide, letters = column_width(sides), letters_of([*sides, *path[1:2]])
    middle, aside = BORDER + wide + GUTTER / 2, (wide + GUTTER) / 2 - 6
    encoder = Column(sides[0], middle - aside, 4)
    decoder = Column(sides[1], middle + aside, 4, sign=-1)
    low, larger = encoder.tops[-1] + 32, anatomy.enlarged(path)
    top = max(low + ROW * len(letters), decoder.tops[-1] + 20)
    closeups = [closeup(part, top, middle) for part in larger.values()]
    high = max([top, *(each.tops[-1] + 4 + BORDER for each in closeups)])
    figure = Figure((middle / 36, high / 72))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 2 * middle), ylim=(high, 0))
    ax.set_axis_off()
    for column in encoder, decoder:
        draw_block(ax, column, wide, path)
        draw_parts(ax, column, path)
    draw_memory(ax, encoder, decoder)
    draw_letters(ax, letters, low + 4)
    for title, column in zip(larger, closeups):
        place = BORDER, top, 2 * (middle - BORDER), high - BORDER - top
        draw_box(ax, place, AROUND)
        write(ax, 10, top + 12, title, ha="left", weight="bold")
        draw_parts(ax, column, path)
    return figure


def closeup(attention: Part, top: float, middle: float) -> Column:
    """Place the parts of an attention on the page, in three lanes."""
    lane, (lead, _) = (middle - BORDER - INSET) / 1.5, lane_width(attention)
    return Column(attention, BORDER + INSET + lead, top + 4, lane, lead)


def column_width(sides: Parts) -> float:
    """How wide a column is: as the shapes need, whatever the path."""
    parts = [part for side in sides for part in side.parts]
    widest = max(shape_width(each) for p in parts for each in p.gives.values())
    lane = max(lane_width(part)[1] for part in parts if part.parts)
    return max(WIDE + 28, 2 * widest + 28, 1.5 * lane + INSET - GUTTER / 2)


def lane_width(attention: Part) -> tuple[float, float]:
    """How far in a lane its arrow is, and how wide it is, for all to fit."""
    named = [each for part in attention.parts for each in part.gives.items()]
    lead = max(text_width(name) for name, _ in named) + 6
    return lead, lead + max(shape_width(shape) for _, shape in named) + 8


def letters_of(drawn: Parts) -> list[str]:
    """List the letters in what the parts of some parts give."""
    given = [part.gives.values() for each in drawn for part in each.parts]
    names = "".join(axis.name for each in given for s in each for axis in s)
    return [letter for letter in AXES if letter in names]


def draw_letters(ax: Axes, letters: list[str], y: float) -> None:
    """Write letters and their meanings, from y down."""
    for i, letter in enumerate(letters):
        meaning, (colour, _) = AXES[letter]
        write(ax, 14, y + i * ROW, letter, color=colour, weight="bold")
        write(ax, 24, y + i * ROW, meaning, ha="left")


def draw_memory(ax: Axes, encoder: Column, decoder: Column) -> None:
    """Say what each side gives, and take the memory across."""
    low, middle = encoder.tops[-1] + 8, (encoder.x + decoder.x) / 2
    write(ax, encoder.x, low, "memory")
    write(ax, decoder.x, decoder.tops[-1] + 8, "logits")
    names = [part.name for part in decoder.whole.parts]
    high = decoder.tops[names.index("cross_attention")] + BOX / 2
    start, end = encoder.x + 24, decoder.x - WIDE / 2
    draw_arrow(ax, (start, low), (middle, low), (middle, high), (end, high))


def draw_block(ax: Axes, column: Column, wide: float, path: Parts) -> None:
    """Draw what is around a side's block, and how often it is there."""
    rows = zip(column.whole.parts, column.tops)
    tops = [top for part, top in rows if part.sublayer is not None]
    top, left = tops[0] - ABOVE, column.x - 6 * column.sign - wide / 2
    high = tops[-1] + BOX + BELOW - top
    mark = HERE * (column.whole is path[-1])
    draw_box(ax, (left, top, wide, high), CURRENT if mark else AROUND)
    outer, inner = (column.whole.label, mark)[:: column.sign]
    write(ax, left + 8, top + 9, outer, ha="left")
    write(ax, left + wide - 8, top + 9, inner, ha="right")


def draw_parts(ax: Axes, column: Column, path: Parts) -> None:
    """Draw parts, and arrows from each down to the next in their lane."""
    parts, tops = column.whole.parts, column.tops
    for part, top, after in zip(parts, tops, tops[1:]):
        if part.name == "residual":
            draw_sum(ax, column, part, top)
        if part.lanes:
            wide = part.lanes * column.lane
            draw_part(ax, (column.x - column.lead, top, wide, BOX), part, path)
        leaves = part.sublayer is not None and after > top + STEP
        middle = top + (BOX + STEP) / 2 - 1 + BELOW * leaves
        for lane, (name, shape) in enumerate(part.gives.items()):
            x = column.x + lane * column.lane
            ends = [
                y for p, y in zip(parts, tops) if p.lanes > lane and y > top
            ]
            draw_arrow(ax, (x, top + BOX), (x, min(ends, default=tops[-1])))
            write(ax, x - 5, middle + 1, name, ha="right")
            left = 6 if column.sign > 0 else -6 - shape_width(shape)
            draw_shape(ax, x + left, middle, shape)


def draw_part(ax: Axes, place: Rectangle, part: Part, path: Parts) -> None:
    """Draw a part's box, marked if on the path, and what it reads aside."""
    left, top, wide, high = place
    y, edge = top + high / 2, left + wide
    style, mark = (ENLARGED, "  ↓ below") if part in path else (PLAIN, "")
    if part is path[-1]:
        style, mark = CURRENT, f"  {HERE}"
    draw_box(ax, place, style)
    label = part.label + DETAILS.get(part.name, "") + mark
    write(ax, left + wide / 2, y, label)
    if part.reads:
        draw_arrow(ax, (edge + wide / 4, y), (edge, y))
        draw_shape(ax, edge + wide / 4 + 4, y, part.reads)


def draw_sum(ax: Axes, column: Column, part: Part, top: float) -> None:
    """Draw the way around a sublayer, into the sum at its end."""
    rows = zip(column.whole.parts, column.tops)
    start = min(y for p, y in rows if p.sublayer == part.sublayer) - 7
    edge, end = column.x - column.sign * WIDE / 2, top + BOX / 2
    x = edge - column.sign * 9
    draw_arrow(ax, (column.x, start), (x, start), (x, end), (edge, end))


def draw_box(ax: Axes, place: Rectangle, style: Style) -> None:
    """Draw a box with round corners."""
    left, top, wide, high = place
    ax.add_patch(FancyBboxPatch((left, top), wide, high, ROUND, **style))


def draw_arrow(ax: Axes, *places: tuple[float, float]) -> None:
    """Draw a line through places, with a tip at the last."""
    style: Style = {"arrowstyle": TIP, "linewidth": 0.9, "color": LINE[0]}
    ax.add_patch(FancyArrowPatch(path=Path(places), **style))


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write, centred on a place unless `ha` says otherwise."""
    y += 3.3  # half the height of a capital: `va` would count the tails
    centred: Style = {"ha": "center", "color": INK[0], "size": SIZE}
    ax.text(x, y, text, **centred | style)


def draw_shape(ax: Axes, x: float, y: float, shape: Shape) -> None:
    """Draw a shape, (2, 8) below B S, from x on and centred on y."""
    for name, size, wide in axis_columns(shape):
        # An axis has the colour of the one letter in its name.
        known = [AXES[each][1] for each in name if each in AXES]
        colour, _ = known[0] if len(known) == 1 else INK
        middle = x + wide / 2
        write(ax, middle, y - 4.9, name, weight="bold", color=colour)
        write(ax, middle, y + 4.9, size)
        x += wide + GAP


def axis_columns(shape: Shape) -> list[tuple[str, str, float]]:
    """Each axis: its name, unless that is a number, its size, its width."""
    sizes = f"({', '.join(str(axis.size) for axis in shape)})".split()
    names = ["" if str(a) == str(a.size) else str(a) for a in shape]
    bold = [text_width(name, "bold") for name in names]
    return list(zip(names, sizes, map(max, map(text_width, sizes), bold)))


def shape_width(shape: Shape) -> float:
    """How wide a shape is drawn."""
    return sum(wide + GAP for _, _, wide in axis_columns(shape)) - GAP


@cache
def text_width(text: str, weight: str = "normal") -> float:
    """How wide a text is."""
    font = FontProperties(family="DejaVu Sans", size=SIZE, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, False)[0]
