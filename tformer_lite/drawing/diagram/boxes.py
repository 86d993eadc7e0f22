"""The boxes of the map: the columns of a model, an attention's close-up."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from tformer_lite.drawing.diagram.parts import Part, Side
from tformer_lite.drawing.diagram.primitives import (
    AROUND,
    CURRENT,
    ENLARGED,
    PLAIN,
    Rectangle,
    draw_arrow,
    draw_box,
    draw_shape,
    shape_width,
    text_width,
    write,
)

# In points: how wide and high a box is, from one to the next, and what the
# frame of a block takes more above it and below it.
WIDE, BOX, STEP, ABOVE, BELOW = 114, 17, 40, 23, 7
TITLE, INSET = 44, 8  # of a close-up: above its first box, and at its sides
HERE = "◄ here"
DETAILS = {"scores": ": q @ kᵀ / √D", "output": " projection"}


def draw_part(
    ax: Axes, place: Rectangle, part: Part, path: list[Part]
) -> None:
    """Draw a part's box: marked at the path's end, dashed on the way."""
    left, top, wide, high = place
    style, mark = PLAIN, ""
    if part in path:
        style, mark = ENLARGED, "  ↓ below"
    if part is path[-1]:
        style, mark = CURRENT, f"  {HERE}"
    draw_box(ax, place, style)
    label = part.label + DETAILS.get(part.name, "") + mark
    write(ax, left + wide / 2, top + high / 2, label)


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
        top = column.top(i)
        if part.name == "residual":
            draw_sum(ax, column, i)
        draw_part(ax, (x - WIDE / 2, top, WIDE, BOX), part, path)
        draw_arrow(ax, (x, top + BOX), (x, column.top(i + 1)))
        shape = part.gives[0][1]
        beside = 6 if column.sign > 0 else -6 - shape_width(shape)
        y = top + (BOX + STEP) / 2 - 1 + BELOW * (i + 1 == block.stop)
        draw_shape(ax, x + beside, y, shape)


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


def lane_width(attention: Part) -> tuple[float, float]:
    """How far within a lane its arrow is, and how wide the lane is: as the
    widest name and the widest shape need."""
    named = [each for part in attention.parts for each in part.gives]
    lead = max(text_width(name) for name, _ in named) + 6
    return lead, lead + max(shape_width(shape) for _, shape in named) + 8


def draw_closeup(
    ax: Axes, place: Rectangle, title: str, path: list[Part]
) -> None:
    """Draw the parts of the attention on a path, in three lanes."""
    left, top, wide, _ = place
    draw_box(ax, place, AROUND)
    left, lane = left + INSET, (wide - 2 * INSET) / 3
    write(ax, left, top + 12, title, ha="left", weight="bold")
    for i, part in enumerate(path[1].parts):
        y = top + TITLE + (i - 1) * STEP
        edge = left + part.lanes * lane
        if part.lanes:
            draw_part(ax, (left, y, part.lanes * lane, BOX), part, path)
        if part.reads:
            draw_arrow(ax, (edge + lane / 4, y + BOX / 2), (edge, y + BOX / 2))
            draw_shape(ax, edge + lane / 4 + 4, y + BOX / 2, part.reads)
        draw_given(ax, (left, y, lane), path[1], i)


def draw_given(ax: Axes, row: tuple, attention: Part, i: int) -> None:
    """Draw what part i gives, lane by lane: an arrow down to the next part
    that takes the lane, its name at its left, its shape at its right."""
    left, top, lane = row
    lead, _ = lane_width(attention)
    middle = top + (BOX + STEP) / 2
    after = [part.lanes for part in attention.parts[i + 1 :]]
    for j, (name, shape) in enumerate(attention.parts[i].gives):
        x = left + lead + j * lane
        rows = next((n for n, lanes in enumerate(after, 1) if lanes > j), 1)
        draw_arrow(ax, (x, top + BOX), (x, top + rows * STEP))
        write(ax, x - 5, middle, name, ha="right")
        draw_shape(ax, x + 6, middle - 1, shape)
