"""What pictures are drawn on: a page that is cut to what stands on it."""

import sys
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.page import (
    NAME,
    PANEL,
    Box,
    Page,
    crop,
    ellipsize,
)
from tformer_lite.drawing.surface.palette import (
    AROUND_ZERO,
    DARK,
    GREY,
    INK,
    KINDS,
)
from tformer_lite.drawing.surface.picture import Picture

WIDEST = PANEL - 4  # pixels, within the edge that `crop` leaves


class Canvas(Page):
    """A page in CSS pixels that begins and ends nowhere: what is drawn says
    how large the picture is. Keep it narrower than WIDEST."""

    def __init__(self, width: float = 1, height: float = 1):
        super().__init__(width, height)

    def bold(
        self, x: float, y: float, text: str, room: float = WIDEST, **style: Any
    ) -> None:
        """Write a name, cut where it has no room."""
        style = {"size": NAME, "weight": "bold"} | style
        font = {key: style[key] for key in ("size", "weight")}
        self.write(x, y, ellipsize(text, room, **font), **style)

    def word(
        self, x: float, y: float, word: str, room: float = WIDEST, **style: Any
    ) -> None:
        """Write a word, cut where it has no room; what fills up is grey."""
        colour = (GREY if word == "[PAD]" else INK)[0]
        self.write(x, y, ellipsize(word, room), **{"color": colour} | style)

    def scores(self, box: Box, values: Tensor, limit: float) -> None:
        """Draw cells, white where a number is 0."""
        self.cells(box, values, AROUND_ZERO, (-limit, limit))

    def rectangle(self, box: Box, **style: Any) -> None:
        """Draw a box without round corners."""
        self.add(Rectangle(box[:2], *box[2:], **style))

    def chart(self, box: Box) -> Axes:
        """Give axes of their own to a box, with labels but no lines."""
        ax = self.axes(box)
        ax.set_axis_on()
        ax.patch.set_visible(False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, colors=INK[0])
        return ax

    def picture(self, text: str, *beside: "Canvas") -> Picture:
        """Cut the page to what is drawn on it, which `text` describes; other
        pages stand beside it where there is room."""
        scales = (kind.counterparts() for kind in KINDS.values())
        dark = {light: d for scale in scales for light, d in scale.items()}
        figures = [crop(page.figure) for page in (self, *beside)]
        return Picture(figures, text, DARK | dark)


def arguments(depth: int = 1) -> list[str]:
    """Give the arguments of a picture as whoever asked for it wrote them;
    none, if that is not known."""
    return argument_texts(sys._getframe(depth + 1)) or []


def titles_of(titles: Sequence[str] | None, count: int) -> list[str]:
    """Give the titles of tensors: those that are given, or the arguments as
    whoever asked for the picture wrote them.

    Raises ValueError unless there are tensors, and as many titles.
    """
    given = titles or arguments(2) or [f"tensor {i}" for i in range(count)]
    if not count or len(given) != count:
        raise ValueError(f"{count} tensors, {len(given)} titles.")
    return list(given)


def largest(*tensors: Tensor) -> float:
    """Find the largest size of a number, for a scale; 1 where all are 0."""
    return max(x.abs().max().item() for x in tensors) or 1.0
