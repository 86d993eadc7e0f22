"""Drawing strokes: boxes, arrows and named shapes, in points from the top."""

from functools import cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Polygon
from matplotlib.textpath import text_to_path

from tformer_lite.drawing.palette import AXES, EDGE, HATCH, INK, PAPER
from tformer_lite.tracing.axes.names import Axis

Shape = tuple[Axis, ...]
SIZE = 9  # of every letter, in points
LINE = ("#57606a", "#a9b4c0")
FRAME = ("#f6f8fa", "#1b2129")
LIT = ("#fff3d1", "#3b2c05")
RIM = ("#9a6700", "#e3b341")
HERE = "◄ here"
ALL = [PAPER, INK, EDGE, HATCH, LINE, FRAME, LIT, RIM]
COLOURS = dict(ALL + [colours for _, colours in AXES.values()])


def sheet(wide: float, high: float) -> Axes:
    """Start a figure whose places are points from its top left corner."""
    figure = Figure((wide / 72, high / 72), facecolor=PAPER[0])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    return axes


def box(ax: Axes, place: tuple, lit=False, frame=False, opened=False) -> None:
    """Draw a box at (left, top, wide, high); `lit` is the current one, and
    `opened` one that is drawn again, larger."""
    left, top, wide, high = place
    fill, edge, thick = PAPER, HATCH, 0.8
    if frame:
        fill, edge = FRAME, EDGE
    if opened:
        edge, thick = RIM, 1
    if lit:
        fill, edge, thick = LIT, RIM, 2.2
    patch = FancyBboxPatch(
        (left, top),
        wide,
        high,
        boxstyle=f"round,pad=0,rounding_size={6 if frame else 4}",
        facecolor=fill[0],
        edgecolor=edge[0],
        linewidth=thick,
        linestyle=(0, (4, 2)) if opened and not lit else "-",
        zorder=1 if frame else 3,
    )
    ax.add_artist(patch)


def words(ax: Axes, x: float, y: float, text: str, **style) -> None:
    """Write, centred on a place unless `ha` says otherwise."""
    style = {"ha": "center", "color": INK[0]} | style
    y += 3.3  # half the height of a capital: `va` would count the tails
    ax.text(x, y, text, size=SIZE, va="baseline", zorder=4, **style)


def arrow(ax: Axes, *places: tuple[float, float]) -> None:
    """Draw a line through places, with a tip at the last."""
    (x0, y0), (x, y) = places[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    line(ax, *places[:-1], (x - 3 * dx, y - 3 * dy))
    side = [(x - 5 * dx + s * dy, y - 5 * dy + s * dx) for s in (-2.5, 2.5)]
    tip = Polygon([(x, y), *side], facecolor=LINE[0], linewidth=0, zorder=3)
    ax.add_artist(tip)


def line(ax: Axes, *places: tuple[float, float]) -> None:
    """Draw a line through places."""
    xs, ys = zip(*places)
    ax.plot(xs, ys, color=LINE[0], linewidth=0.9, zorder=2)


@cache
def width(text: str, weight: str = "normal") -> float:
    """How wide a text is, in points."""
    font = FontProperties(family="DejaVu Sans", size=SIZE, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, False)[0]


def letter(axis: Axis) -> str:
    """What stands above a size: its name, unless that is a plain number."""
    return "" if str(axis) == str(axis.size) else str(axis)


def colour(axis: Axis) -> str:
    """An axis has the colour of the one letter in its name."""
    known = [c for c in axis.name if c in AXES]
    return AXES[known[0]][1][0] if len(known) == 1 else INK[0]


def columns(shape: Shape) -> list[tuple[float, str, Axis]]:
    """Where the column of each axis starts, its size with what is around
    it, and the axis; the last is where the shape ends."""
    found, x = [], 0.0
    for i, axis in enumerate(shape):
        token = "(" * (i == 0) + str(axis.size)
        token += ")" if i == len(shape) - 1 else ","
        need = max(width(token), width(letter(axis), "bold"))
        found.append((x, token, axis))
        x += need + 3
    return found


def extent(shape: Shape) -> float:
    """How wide a shape is drawn, in points."""
    if not shape:
        return width("()")
    x, token, axis = columns(shape)[-1]
    return x + max(width(token), width(letter(axis), "bold"))


def named_shape(ax: Axes, x: float, y: float, shape: Shape, right=False):
    """Draw a shape, (2, 8) below B S, from x on and centred on y; with
    `right` it ends at x."""
    x -= extent(shape) if right else 0
    for start, token, axis in columns(shape):
        number = str(axis.size)
        middle = x + start + width(token.split(number)[0]) + width(number) / 2
        middle = max(middle, x + start + width(letter(axis), "bold") / 2)
        words(ax, x + start, y + 4.9, token, ha="left")
        style = {"weight": "bold", "color": colour(axis)}
        words(ax, middle, y - 4.9, letter(axis), **style)
