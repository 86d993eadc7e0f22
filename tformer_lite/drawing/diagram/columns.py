"""Model overview: encoder and decoder side by side, box by box."""

from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes

from tformer_lite.drawing.diagram.anatomy import Part
from tformer_lite.drawing.diagram.pen import (
    HERE,
    arrow,
    box,
    line,
    named_shape,
    words,
)

# In points: how wide and high a box is, from one to the next, and what the
# frame of a block takes more.
WIDE, BOX, STEP, IN, OUT = 114, 17, 40, 23, 7


@dataclass(frozen=True)
class Column:
    """One side of the model: its parts, and where they stand.

    Shapes stand at its inner side, and sums reach around at its outer one.
    `lit` is the current part here, or the side itself, `opened` the
    attention that is drawn again.
    """

    side: str
    parts: list[Part]
    n_blocks: int
    left: float
    wide: float
    lit: Part | str | None = None
    opened: Part | None = None

    @property
    def sign(self) -> int:
        """The direction from its middle to the other column."""
        return 1 if self.side == "encoder" else -1

    @property
    def middle(self) -> float:
        """Where its arrows run down."""
        return self.left + self.wide / 2 + 6 * self.sign

    @cached_property
    def tops(self) -> list[float]:
        """How far down each part's box starts, and the last arrow ends."""
        found, before = [4.0], self.parts[0].sublayer
        for now in [*(part.sublayer for part in self.parts[1:]), None]:
            change = (now is None) - (before is None)
            found.append(found[-1] + STEP + {-1: IN, 0: 0, 1: OUT}[change])
            before = now
        return found

    def top_of(self, name: str) -> float:
        """How far down the first part of a name starts."""
        return self.tops[[part.name for part in self.parts].index(name)]


def draw_column(ax: Axes, col: Column) -> None:
    """Draw the block's frame, the sums, the arrows and the boxes."""
    draw_frame(ax, col)
    for number in sorted({part.sublayer for part in col.parts} - {None}):
        draw_sum(ax, col, number)
    for part, top, end in zip(col.parts, col.tops, col.tops[1:]):
        draw_arrow(ax, col, part, top + BOX, end)
        draw_box(ax, col, part, top)


def draw_box(ax: Axes, col: Column, part: Part, top: float) -> None:
    """Draw a part's box, with a mark in the current one."""
    lit, opened = part is col.lit, part is col.opened
    place = col.middle - WIDE / 2, top, WIDE, BOX
    box(ax, place, lit, opened=opened)
    note = f"  {HERE}" if lit else "  ↓ below" * opened
    words(ax, col.middle, top + BOX / 2, part.label + note)


def draw_frame(ax: Axes, col: Column) -> None:
    """Draw what is around the block, and how often it is there."""
    inner = [i for i, p in enumerate(col.parts) if p.sublayer is not None]
    top = col.tops[inner[0]] - IN
    bottom = col.tops[inner[-1]] + BOX + OUT
    lit = col.lit == col.side
    box(ax, (col.left, top, col.wide, bottom - top), lit, frame=True)
    title = f"{col.side} × {col.n_blocks}"
    for sign, text in (-col.sign, title), (col.sign, HERE * lit):
        x = col.left + col.wide / 2 + sign * (col.wide / 2 - 8)
        ha = "left" if sign < 0 else "right"
        words(ax, x, top + 9, text, ha=ha)


def draw_arrow(
    ax: Axes, col: Column, part: Part, top: float, end: float
) -> None:
    """Draw the arrow out of a part, with the part's shape."""
    arrow(ax, (col.middle, top), (col.middle, end))
    leaves = end - top == STEP - BOX + OUT
    x, y = col.middle + 6 * col.sign, top + (STEP - BOX) / 2 - 1
    y += OUT * leaves
    named_shape(ax, x, y, part.shape, right=col.sign < 0)


def draw_sum(ax: Axes, col: Column, number: int) -> None:
    """Draw the way around a sublayer, into its sum."""
    of = {
        part.name: y
        for part, y in zip(col.parts, col.tops)
        if part.sublayer == number
    }
    if "residual" not in of:
        return
    x = col.middle - col.sign * (WIDE / 2 + 9)
    top, end = min(of.values()) - 7, of["residual"] + BOX / 2
    side = col.middle - col.sign * WIDE / 2
    line(ax, (col.middle, top), (x, top))
    arrow(ax, (x, top), (x, end), (side, end))
