"""A page to draw on, measured in CSS pixels from its top left corner.

Panels are no wider than a phone's column of text, so that letters keep their
size; two stand side by side where a page has room.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from unicodedata import category

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import (
    FancyArrowPatch,
    FancyBboxPatch,
    Patch,
    PathPatch,
    Rectangle,
)
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox, BboxTransformTo
from torch import Tensor

from tformer_lite.drawing.surface import palette
from tformer_lite.drawing.surface.palette import AXES, EDGE, HATCH, INK, RIM
from tformer_lite.drawing.surface.picture import (
    FAMILIES,
    Box,
    Place,
    with_style,
)

PANEL = 358  # how wide a panel may be: as a phone's column
NAME, SIZE = 12, 11  # letters: of names, and all others
GAP = 3  # between the axes of a shape
Style = dict[str, Any]  # as matplotlib calls it
# Where a line may end: behind a space, or behind a sign in code.
BREAK, AFTER_SIGN = re.compile(r".+\s"), re.compile(r".+[-,.(\[=+*/@:]")
# What `styled` would say of a text: it would copy all settings for each.
LETTERS: Style = {"family": FAMILIES, "parse_math": False}
TIP = "-|>, head_length=4.5, head_width=2.2"


class Sheet:
    """A figure whose units are CSS pixels, and what is written on it."""

    def __init__(self, width: float, height: float):
        self.width, self.height = width, height
        self.figure = Figure((width / 72, height / 72))
        self.ax = self.axes((0, 0, width, height))

    @with_style
    def axes(self, box: Box) -> Axes:
        """Give axes of their own to a part of the page, in its pixels."""
        left, top, wide, high = box
        bottom = self.height - top - high
        share = left / self.width, bottom / self.height
        size = wide / self.width, high / self.height
        ax = self.figure.add_axes((*share, *size))
        ax.set(xlim=(left, left + wide), ylim=(top + high, top))
        ax.set_axis_off()
        return ax

    def bottom(self) -> float:
        """Tell how far down what is drawn reaches."""
        return self.height - 72 * tight_box(self.figure).y0

    def add(self, patch: Patch) -> None:
        """Add a drawing of matplotlib's."""
        self.ax.add_patch(patch).set_clip_on(False)

    def write(self, x: float, y: float, text: str, **style: Any) -> None:
        """Write, centred on a place unless `ha` says otherwise."""
        usual = LETTERS | {"ha": "center", "color": INK[0], "size": SIZE}
        usual |= style
        if not usual.get("rotation"):
            # Half of a capital's height: `va` would count the tails.
            y += 0.365 * usual["size"]
        self.ax.text(x, y, text, **usual)

    def note(self, x: float, y: float, text: str, **style: Any) -> None:
        """Write what is said aside, grey."""
        self.write(x, y, text, **{"color": palette.GREY[0]} | style)


class Matrices(Sheet):
    """A sheet on which matrices are drawn."""

    def cells(
        self,
        box: Box,
        values: Tensor,
        kind: palette.Kind,
        limits: tuple[float, float],
        hidden: Tensor | None = None,
    ) -> None:
        """Colour a matrix's cells as its kind does between the limits; cells
        where `hidden` is True are hatched, whatever they hold."""
        hidden = values.isneginf() if hidden is None else hidden.bool()
        (left, top, wide, high), (rows, columns) = box, values.shape
        w, h = wide / columns, high / rows
        look: Style = {"cmap": kind.scale(kind.light), "clip_on": False}
        look |= {"edgecolors": EDGE[0], "linewidth": 0.6}
        self.ax.pcolormesh(
            [left + w * i for i in range(columns + 1)],
            [top + h * i for i in range(rows + 1)],
            values.detach().cpu().double().masked_fill(hidden, 0).numpy(),
            norm=Normalize(*limits),
            **look,
        )
        places = hidden.nonzero().tolist()
        self.hatch((left + w * j, top + h * i, w, h) for i, j in places)

    @with_style
    def hatch(self, boxes: Iterable[Box], ax: Axes | None = None) -> None:
        """Shade and hatch boxes: what is masked. One path keeps it small."""
        square = Path.unit_rectangle()
        places = [BboxTransformTo(Bbox.from_bounds(*box)) for box in boxes]
        paths = [place.transform_path(square) for place in places]
        if not paths:
            return
        grey: Style = {"fc": palette.SHADE[0], "lw": 0}
        lines: Style = {"fill": False, "hatch": "////", "ec": HATCH[0]}
        for style in grey, lines | {"lw": 0}:
            path = Path.make_compound_path(*paths)
            patch = PathPatch(path, zorder=1.5, **style)
            (ax or self.ax).add_patch(patch).set_clip_on(False)


class Page(Matrices):
    """A figure whose units are CSS pixels: x to the right, y down."""

    def shape(
        self, x: float, y: float, names: Sequence[str], sizes: Sequence[int]
    ) -> None:
        """Write a shape, (2, 8) below B S, centred on a place."""
        columns = shape_columns(names, sizes)
        x -= shape_width(names, sizes) / 2
        for name, size, wide in columns:
            # An axis has the colour of the one letter in its name.
            known = set(AXES).intersection(name if name.isupper() else "")
            colour, _ = AXES[known.pop()][1] if len(known) == 1 else INK
            style: Style = {"weight": "bold", "color": colour}
            self.write(x + wide / 2, y - 7, name, **style)
            self.write(x + wide / 2, y + 7, size)
            x += wide + GAP

    def box(self, box: Box, corner: float = 4, **style: Any) -> None:
        """Draw a box with round corners."""
        left, top, wide, high = box
        corners = f"round, pad=0, rounding_size={corner}"
        patch = FancyBboxPatch((left, top), wide, high, corners, **style)
        self.add(patch)

    def frame(self, box: Box, ax: Axes | None = None) -> None:
        """Draw the frame that says: look here."""
        left, top, wide, high = box
        style: Style = {"fill": False, "ec": RIM[0], "lw": 2, "zorder": 5}
        rectangle = Rectangle((left, top), wide, high, **style)
        (ax or self.ax).add_patch(rectangle).set_clip_on(False)

    def arrow(self, *places: Place, **style: Any) -> None:
        """Draw a line through places, with a tip at the last."""
        line: Style = {"arrowstyle": TIP, "lw": 0.9, "color": palette.LINE[0]}
        self.add(FancyArrowPatch(path=Path(places), **line | style))

    def wire(
        self, start: Place, end: Place, upright: bool = False, **style: Any
    ) -> None:
        """Draw a curve that leaves and arrives level, or upright."""
        x, y = ((one + other) / 2 for one, other in zip(start, end))
        bends = [(start[0], y), (end[0], y)]
        if not upright:
            bends = [(x, start[1]), (x, end[1])]
        places = [start, *bends, end]
        path = Path(places, [Path.MOVETO, *[Path.CURVE4] * 3])
        line: Style = {"lw": 1, "ec": palette.LINE[0], "capstyle": "butt"}
        self.add(PathPatch(path, fill=False, **line | style))


@mpl.rc_context({"text.hinting": "no_hinting"})  # as browsers do it
def tight_box(figure: Figure) -> Bbox:
    """Give the box of all that is drawn on a figure, in inches."""
    figure.dpi = 72  # where a point is a CSS pixel
    return figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())


def crop(figure: Figure, drawn: Bbox | None = None) -> Figure:
    """Make a figure as large as what is drawn on it, where that stands."""
    box = (drawn or tight_box(figure)).padded(2 / 72)
    across, down = (
        old / new for old, new in zip(figure.get_size_inches(), box.size)
    )
    for ax in figure.axes:
        x, y, wide, high = ax.get_position().bounds
        x, y = x * across - box.x0 / box.width, y * down - box.y0 / box.height
        ax.set_position((x, y, wide * across, high * down))
    figure.set_size_inches(*box.size)
    return figure


def place_on_page(figure: Figure, ax: Axes) -> Box:
    """Tell where axes are on a figure, in pixels from the top left."""
    wide, high = (72 * side for side in figure.get_size_inches())
    box = ax.get_position()
    left, top = round(box.x0 * wide, 1), round((1 - box.y1) * high, 1)
    return left, top, round(box.width * wide, 1), round(box.height * high, 1)


def shape_columns(
    names: Sequence[str], sizes: Sequence[int]
) -> list[tuple[str, str, float]]:
    """Each axis: its name, unless a number, size, width; words are joined."""
    written = f"({', '.join(map(str, sizes))})".split()
    named = ["" if n == str(s) else n for n, s in zip(names, sizes)]
    if any(map(str.islower, names)):
        named, written = [" × ".join(names)], [" ".join(written)]
    bold = [text_width(name, weight="bold") for name in named]
    return list(zip(named, written, map(max, map(text_width, written), bold)))


def shape_width(names: Sequence[str], sizes: Sequence[int]) -> float:
    """How wide a shape is drawn."""
    return sum(w + GAP for _, _, w in shape_columns(names, sizes)) - GAP


@cache
def text_width(text: str, size: float = SIZE, weight: str = "normal") -> float:
    """How wide a text is."""
    font = FontProperties(family=FAMILIES, size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, False)[0]


def lines(
    text: str, width: float, size: float = SIZE, weight: str = "normal"
) -> list[str]:
    """Break a text into lines no wider than a width: at a space, behind a
    sign, or, if need be, in a word, but never before a vowel sign."""
    found = []
    while text_width(text, size, weight) > width and len(text) > 1:
        ends = range(len(text) - 1, 0, -1)
        fit = (i for i in ends if text_width(text[:i], size, weight) <= width)
        end = next(fit, 1)
        soft = BREAK.match(text[: end + 1]) or AFTER_SIGN.match(text[:end])
        end = soft.end() if soft else end
        while end < len(text) - 1 and category(text[end]).startswith("M"):
            end += 1
        found.append(text[:end].rstrip())
        text = text[end:]
    return [*found, text]


def ellipsize(text: str, wide: float, **font: Any) -> str:
    """Cut a text that is wider than its place, and say so by an ellipsis."""
    if text_width(text, **font) <= wide:
        return text
    while text and text_width(f"{text}…", **font) > wide:
        text = text[:-1]
    return f"{text}…"
