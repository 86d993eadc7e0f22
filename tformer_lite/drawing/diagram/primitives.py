"""Drawing primitives: boxes, arrows, words and named shapes; places are in
points from the top left corner of a page."""

from functools import cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from tformer_lite.drawing.diagram.parts import Shape
from tformer_lite.drawing.palette import AXES, EDGE, HATCH, INK, PAPER

SIZE = 9  # of every letter
GAP = 3  # between the axes of a shape
LINE = ("#57606a", "#a9b4c0")
FRAME = ("#f6f8fa", "#1b2129")
LIT = ("#fff3d1", "#3b2c05")
RIM = ("#9a6700", "#e3b341")
ALL = [PAPER, INK, EDGE, HATCH, LINE, FRAME, LIT, RIM]
Style = dict[str, Any]  # as matplotlib calls it
Rectangle = tuple[float, float, float, float]  # left, top, width, height
PLAIN: Style = {"fc": PAPER[0], "ec": HATCH[0], "lw": 0.8}
AROUND: Style = {"fc": FRAME[0], "ec": EDGE[0], "lw": 0.8}
CURRENT: Style = {"fc": LIT[0], "ec": RIM[0], "lw": 2.2}
ENLARGED: Style = {"fc": PAPER[0], "ec": RIM[0], "lw": 1, "ls": "dashed"}
COLOURS = dict(ALL + [colours for _, colours in AXES.values()])


def draw_box(ax: Axes, place: Rectangle, style: Style) -> None:
    """Draw a box with round corners."""
    left, top, wide, high = place
    patch = FancyBboxPatch((left, top), wide, high, **style)
    patch.set_boxstyle("round", pad=0, rounding_size=4)
    ax.add_patch(patch)


def draw_arrow(ax: Axes, *places: tuple[float, float]) -> None:
    """Draw a line through places, with a tip at the last."""
    patch = FancyArrowPatch(path=Path(places), linewidth=0.9, color=LINE[0])
    patch.set_arrowstyle("-|>", head_length=4.5, head_width=2.2)
    ax.add_patch(patch)


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
        style = {"weight": "bold", "color": colour}
        write(ax, x + wide / 2, y - 4.9, name, **style)
        write(ax, x + wide / 2, y + 4.9, size)
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
