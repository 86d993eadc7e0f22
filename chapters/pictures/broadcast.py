"""How broadcasting repeats small masks until they fit each other."""

import math
import sys
from dataclasses import dataclass
from functools import reduce
from operator import and_

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.matrix import labels_for
from tformer_lite.drawing.surface.page import (
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    Box,
    Page,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import DARK, INK, KINDS, MUTED
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["broadcast"]

MOST = (4, 1, 20, 20)  # sentences, heads and positions that have room
CELL, SIGN = 16, 28  # how large a cell is; room for & and =
ABOVE, BELOW, APART = 56, 24, 10  # titles; a note; between sentences
TITLE: Style = {"weight": "bold", "size": SIZE}
LETTER = 10.5  # from one word down to the next, at least
GREY = KINDS["mask"]
STORED: Style = {"fill": False, "ec": INK[0], "lw": 1.5, "zorder": 3}
REPEATED: Style = {"fill": False, "ec": MUTED[0], "lw": 0.9, "ls": ":"}
NOTE = "outlined: stored · dotted: repeated, never stored · hatched: hidden"


def broadcast(
    *masks: Tensor,
    words: list[list[str]] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw masks, repeated until they fit, and what they allow together:
    (B, 1, 1, S), (1, 1, T, S) -> a picture.

    What is stored is outlined, what broadcasting repeats is dotted, and what
    a mask hides is hatched. `words` name the positions of each sentence.
    The headings are the arguments as you wrote them, unless `titles` says
    otherwise. Raises ValueError for masks that do not fit each other, and
    for what has no room: more than 4 sentences, 1 head or 20 positions.

    >>> padding = padding_mask(torch.tensor([[5, 6, 1]]), pad=1)
    >>> broadcast(padding, causal_mask(3), titles=["padding", "causal"])
    padding stores 3 of 9 places, causal stores 9 of 9 places; together ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or [f"mask {i}" for i in range(len(masks))]
    if not masks or len(titles) != len(masks):
        raise ValueError(f"{len(masks)} masks, {len(titles)} titles.")
    panels = fitted([mask.detach().cpu() for mask in masks], titles)
    n, _, t, _ = panels[-1].every.shape
    words = words or [[str(i) for i in range(t)]] * n
    if len(words) != n:
        raise ValueError(f"{len(words)} lists of words, {n} sentences.")
    labels = [labels_for(row, t) for row in words]
    wide, narrow = (draw_masks(panels, labels, w) for w in (WIDE, NARROW))
    dark = DARK | GREY.counterparts()
    return Picture(wide, described(panels), dark, narrow)


@dataclass
class Mask:
    """A mask with its title: as it is stored, and repeated."""

    title: str
    stored: Tensor
    every: Tensor


def fitted(masks: list[Tensor], titles: list[str]) -> list[Mask]:
    """Repeat masks to a common shape, and add what they allow together."""
    for title, mask in zip(titles, masks):
        if mask.ndim != 4 or mask.dtype != torch.bool:
            raise ValueError(
                f"{title} is {mask.dtype} {tuple(mask.shape)}: give booleans "
                "of shape (1 or B, 1, 1 or T, S)."
            )
    try:
        every = torch.broadcast_tensors(*masks)
    except RuntimeError as error:
        raise ValueError(f"the masks do not fit each other: {error}") from None
    if any(n > most for n, most in zip(every[0].shape, MOST)):
        raise ValueError(
            f"the masks make {tuple(every[0].shape)}, and there is room for "
            f"{MOST}: choose some, such as mask[:2, :1]."
        )
    panels = [Mask(*each) for each in zip(titles, masks, every)]
    both = reduce(and_, every)
    return [*panels, Mask("together", both, both)]


def described(panels: list[Mask]) -> str:
    """Say what is stored, and list what is allowed together."""
    *alone, both = panels
    say = ", ".join(
        f"{mask.title} stores {mask.stored.numel()} of {mask.every.numel()} "
        "places"
        for mask in alone
    )
    allowed = f"{both.every.sum()} of {both.every.numel()} places are allowed"
    rows = [
        " ".join("1" if allowed else "." for allowed in row)
        for sentence in both.every[:, 0].tolist()
        for row in [*sentence, []]
    ]
    return "\n".join([f"{say}; together {allowed}.", "", *rows]).rstrip()


class Grid:
    """How large cells are, how wide and high a sentence's share is, and how
    far it is to the next mask and the next sentence."""

    def __init__(
        self, panels: list[Mask], words: list[list[str]], width: float
    ):
        _, _, t, s = panels[-1].every.shape
        longest = max(text_width(word, SMALL) for row in words for word in row)
        self.words = min(60, 1.1 * longest) + 6
        room = width - self.words - SIGN * (len(panels) - 1)
        self.cell = min(CELL, room / len(panels) / s)
        self.wide, self.high = self.cell * s, self.cell * t
        self.across, self.down = self.wide + SIGN, self.high + APART

    def share(self, mask: int, sentence: int) -> Box:
        """Where a mask's share of a sentence is drawn."""
        top = ABOVE + self.down * sentence
        return 1 + self.across * mask, top, self.wide, self.high


@styled
def draw_masks(
    panels: list[Mask], words: list[list[str]], width: float
) -> Figure:
    """Draw masks side by side, and the words at the right."""
    grid = Grid(panels, words, width)
    page = Page(width, ABOVE + len(words) * grid.down + BELOW)
    signs = ["&"] * (len(panels) - 2) + ["=", ""]
    for i, (panel, sign) in enumerate(zip(panels, signs)):
        draw_heading(page, grid, panel, grid.across * i)
        for n in range(len(words)):
            draw_share(page, grid, panel, n, grid.share(i, n))
        x, y = grid.across * (i + 1) - SIGN / 2, page.height - BELOW - APART
        page.write(x, (ABOVE + y) / 2, sign, weight="bold", size=14)
    for n, row in enumerate(words):
        left, top, *_ = grid.share(len(panels), n)
        step = math.ceil(LETTER / grid.cell)
        for i in range(0, len(row), step):
            y = top + grid.cell * (i + 0.5)
            draw_word(page, grid, row[i], left - SIGN + 6, y)
    page.note(0, page.height - 8, NOTE, ha="left", size=9)
    return page.figure


def draw_heading(page: Page, grid: Grid, panel: Mask, left: float) -> None:
    """Write what a mask is called, and the shape that is stored."""
    middle, shape = left + grid.wide / 2, panel.stored.shape
    title = shortened(panel.title, 0.95 * grid.wide, **TITLE)
    page.write(middle, 8, title, **TITLE)
    letters = [name if n > 1 else "1" for name, n in zip("BHTS", shape)]
    page.shape(middle, 32, letters, shape)


def draw_share(
    page: Page, grid: Grid, panel: Mask, sentence: int, box: Box
) -> None:
    """Draw a mask's share of a sentence: hatch what it hides, dot what is
    repeated, and outline what is stored."""
    left, top, wide, high = box
    (n, _, t, s), cell = panel.stored.shape, grid.cell
    hidden = ~panel.every[sentence, 0]
    if sentence < n:
        hidden[:t, :s] = False  # is drawn with what is stored
    places = hidden.nonzero().tolist()
    page.hatch(
        (left + cell * j, top + cell * i, cell, cell) for i, j in places
    )
    page.add(Rectangle((left, top), wide, high, **REPEATED))
    if sentence < n:
        stored, box = (
            panel.stored[sentence, 0],
            (left, top, cell * s, cell * t),
        )
        page.cells(box, stored.float(), GREY, (0, 1), hidden=~stored)
        page.add(Rectangle(box[:2], *box[2:], **STORED))
    middle = left + wide / 2
    if sentence < n and cell * t < high:
        page.arrow((middle, top + cell * t + 3), (middle, top + high - 3))
    elif sentence >= n:
        page.arrow((middle, top - APART - 6), (middle, top + 10))


def draw_word(page: Page, grid: Grid, word: str, x: float, y: float) -> None:
    """Name a position."""
    style: Style = {"color": MUTED[0]} if word == "[PAD]" else {}
    word = shortened(word, 0.95 * grid.words, size=SMALL)
    page.write(x, y, word, ha="left", size=min(SMALL, 9.5), **style)
