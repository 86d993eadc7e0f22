"""The boxes of the map: the columns of a model, an attention's close-up.

Places are in points from the top left corner of the page.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from tformer_lite.drawing.diagram.anatomy import Part, Side
from tformer_lite.drawing.palette import AXES, EDGE, HATCH, INK, PAPER
from tformer_lite.tracing.axes.names import Shape

SIZE = 9  # of every letter
GAP = 3  # between the axes of a shape
# How wide and high a box is, from one to the next, and what the frame of a
# block takes more above it and below it.
WIDE, BOX, STEP, ABOVE, BELOW = 114, 17, 40, 23, 7
TITLE, INSET = 44, 8  # of a close-up: above its first box, and at its sides
LINE = ("#57606a", "#a9b4c0")
FRAME = ("#f6f8fa", "#1b2129")
LIT = ("#fff3d1", "#3b2c05")
RIM = ("#9a6700", "#e3b341")
ALL = [PAPER, INK, EDGE, HATCH, LINE, FRAME, LIT, RIM]
COLOURS = dict(ALL + [colours for _, colours in AXES.values()])
Style = dict[str, Any]  # as matplotlib calls it
Place = tuple[float, float]
Rectangle = tuple[float, float, float, float]  # left, top, width, height
PLAIN: Style = {"fc": PAPER[0], "ec": HATCH[0], "lw": 0.8}
AROUND: Style = {"fc": FRAME[0], "ec": EDGE[0], "lw": 0.8}
CURRENT: Style = {"fc": LIT[0], "ec": RIM[0], "lw": 2.2}
ENLARGED: Style = {"fc": PAPER[0], "ec": RIM[0], "lw": 1, "ls": "dashed"}
ROUND = "round, pad=0, rounding_size=4"
TIP = "-|>, head_length=4.5, head_width=2.2"
HERE = "◄ here"
DETAILS = {"scores": ": q @ kᵀ / √D", "output": " projection"}


def draw_box(ax: Axes, place: Rectangle, style: Style) -> None:
    """Draw a box with round corners."""
    left, top, wide, high = place
    ax.add_patch(FancyBboxPatch((left, top), wide, high, ROUND, **style))


def draw_arrow(ax: Axes, *places: Place) -> None:
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
    """What stands above each axis (its name, unless that is a plain number),
    its size with what is around it, and how wide both are."""
    found = []
    for i, axis in enumerate(shape):
        name = "" if str(axis) == str(axis.size) else str(axis)
        size = "(" * (i == 0) + str(axis.size)
        size += ")" if i == len(shape) - 1 else ","
        wide = max(text_width(size), text_width(name, "bold"))
        found.append((name, size, wide))
    return found


def shape_width(shape: Shape) -> float:
    """How wide a shape is drawn."""
    return sum(wide + GAP for _, _, wide in axis_columns(shape)) - GAP


@cache
def text_width(text: str, weight: str = "normal") -> float:
    """How wide a text is."""
    font = FontProperties(family="DejaVu Sans", size=SIZE, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, False)[0]


def draw_row(
    ax: Axes, place: Rectangle, part: Part, path: list[Part], *ways: Rectangle
) -> None:
    """Draw a part: its box, marked at the path's end and dashed on the way,
    unless it is 0 wide; and for each thing that it gives, an arrow down.

    Its way is the arrow's x and end, and where its shape stands: x, y.
    """
    left, top, wide, high = place
    y, edge = top + high / 2, left + wide
    if wide:
        style, mark = (ENLARGED, "  ↓ below") if part in path else (PLAIN, "")
        if part is path[-1]:
            style, mark = CURRENT, f"  {HERE}"
        draw_box(ax, place, style)
        label = part.label + DETAILS.get(part.name, "") + mark
        write(ax, left + wide / 2, y, label)
    if part.reads:
        draw_arrow(ax, (edge + wide / 4, y), (edge, y))
        draw_shape(ax, edge + wide / 4 + 4, y, part.reads)
    for (name, shape), (x, end, beside, middle) in zip(part.gives, ways):
        draw_arrow(ax, (x, top + high), (x, end))
        write(ax, x - 5, middle + 1, name, ha="right")
        draw_shape(ax, beside, middle, shape)


@dataclass(frozen=True)
class Column:
    """One side of the model, and where it stands.

    Shapes stand at its inner side, and sums reach around at its outer one.
    """

    side: Side
    left: float
    wide: float

    @property
    def sign(self) -> int:
        """The direction from its middle to the other column."""
        return 1 if self.side.name == "encoder" else -1

    @property
    def middle(self) -> float:
        """Where its arrows run down."""
        return self.left + self.wide / 2 + 6 * self.sign

    def top(self, i: int) -> float:
        """How far down the box of part i starts."""
        block = self.side.block
        entered, left = i >= block.start, i >= block.stop
        return 4 + i * STEP + ABOVE * entered + BELOW * left

    @property
    def end(self) -> float:
        """How far down its last arrow ends."""
        return self.top(len(self.side.parts))


def draw_column(ax: Axes, column: Column, path: list[Part]) -> None:
    """Draw a side: its block's frame, and its parts with what they give."""
    x, block = column.middle, column.side.block
    draw_frame(ax, column, HERE * (column.side is path[-1]))
    for i, part in enumerate(column.side.parts):
        if part.name == "residual":
            draw_sum(ax, column, i)
        top, shape = column.top(i), part.gives[0][1]
        beside = 6 if column.sign > 0 else -6 - shape_width(shape)
        y = top + (BOX + STEP) / 2 - 1 + BELOW * (i + 1 == block.stop)
        way = x, column.top(i + 1), x + beside, y
        draw_row(ax, (x - WIDE / 2, top, WIDE, BOX), part, path, way)


def draw_frame(ax: Axes, column: Column, mark: str) -> None:
    """Draw what is around the block, and how often it is there."""
    block, left = column.side.block, column.left
    top = column.top(block.start) - ABOVE
    high = column.top(block.stop) - STEP + BOX - top
    style = CURRENT if mark else AROUND
    draw_box(ax, (left, top, column.wide, high), style)
    outer, inner = (column.side.label, mark)[:: column.sign]
    write(ax, left + 8, top + 9, outer, ha="left")
    write(ax, left + column.wide - 8, top + 9, inner, ha="right")


def draw_sum(ax: Axes, column: Column, i: int) -> None:
    """Draw the way around a sublayer, into the sum that is part i."""
    sublayers = [part.sublayer for part in column.side.parts]
    start = column.top(sublayers.index(sublayers[i])) - 7
    end = column.top(i) + BOX / 2
    edge = column.middle - column.sign * WIDE / 2
    x = edge - column.sign * 9
    draw_arrow(ax, (column.middle, start), (x, start), (x, end), (edge, end))


def closeup_height(attention: Part) -> float:
    """How high a close-up is: a row for each part."""
    return TITLE + STEP * (len(attention.parts) - 1) + 4


def lane_width(attention: Part) -> Place:
    """How far within a lane its arrow is, and how wide the lane is: as the
    widest name and the widest shape need."""
    named = [each for part in attention.parts for each in part.gives]
    lead = max(text_width(name) for name, _ in named) + 6
    return lead, lead + max(shape_width(shape) for _, shape in named) + 8


def draw_closeup(
    ax: Axes, place: Rectangle, title: str, path: list[Part]
) -> None:
    """Draw the parts of the attention on a path, in three lanes: an arrow
    runs down to the next part that takes its lane."""
    left, top, wide, _ = place
    draw_box(ax, place, AROUND)
    write(ax, left + INSET, top + 12, title, ha="left", weight="bold")
    left, lane = left + INSET, (wide - 2 * INSET) / 3
    lead, parts = lane_width(path[1])[0], path[1].parts
    for i, part in enumerate(parts):
        y, ways = top + TITLE + (i - 1) * STEP, []
        for j in range(len(part.gives)):
            x = left + lead + j * lane
            after = (n for n, p in enumerate(parts[i + 1 :], 1) if p.lanes > j)
            end = y + next(after, 1) * STEP
            ways.append((x, end, x + 6, y + (BOX + STEP) / 2 - 1))
        row = left, y, part.lanes * lane, BOX
        draw_row(ax, row, part, path, *ways)
