"""How broadcasting repeats small masks until they fit each other."""

from dataclasses import dataclass
from functools import reduce
from operator import and_

import torch
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import labels_for
from tformer_lite.drawing.surface.page import SIZE, Box, text_width
from tformer_lite.drawing.surface.palette import GREY, INK, KINDS
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["broadcast"]

MOST_PLACES = (4, 1, 20, 20)  # sentences, heads and positions that have room
CELL, SIGN, APART = 16, 24, 10  # a cell; room for & and =; from masks down
NOTE = "outlined: stored · dotted: repeated, never stored", "hatched: hidden"


def broadcast(
    *masks: Tensor,
    words: list[list[str]] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw masks of self-attention, repeated until they fit, and what they
    allow together: (B, 1, 1, T), (1, 1, T, T) -> a picture.

    What is stored is outlined, what broadcasting repeats is dotted, and what
    a mask hides is hatched. `words` name the positions of each sentence.
    The headings are the arguments as you wrote them, unless `titles` says
    otherwise. Raises ValueError for masks that do not fit each other, and
    for what has no room: more than 4 sentences, 1 head or 20 positions.

    >>> padding = padding_mask(torch.tensor([[5, 6, 1]]), pad=1)
    >>> broadcast(padding, causal_mask(3), titles=["padding", "causal"])
    padding stores 3 of 9 places, causal stores 9 of 9 places; together ...
    """
    titles = titles_of(titles, len(masks))
    panels = broadcast_masks([mask.detach().cpu() for mask in masks], titles)
    n, _, t, _ = panels[-1].every.shape
    words = words or [[str(i) for i in range(t)]] * n
    if len(words) != n:
        raise ValueError(f"{len(words)} lists of words, {n} sentences.")
    labels = [labels_for(row, t) for row in words]
    return draw_masks(panels, labels).picture(masks_text(panels))


@dataclass
class Mask:
    """A mask with its title: as it is stored, and repeated."""

    title: str
    stored: Tensor
    every: Tensor


def broadcast_masks(masks: list[Tensor], titles: list[str]) -> list[Mask]:
    """Repeat masks to a common shape, and add what they allow together."""
    for title, mask in zip(titles, masks):
        if mask.ndim != 4 or mask.dtype != torch.bool:
            raise ValueError(
                f"{title} is {mask.dtype} {tuple(mask.shape)}: give booleans "
                "of shape (1 or B, 1, 1 or T, T)."
            )
    try:
        every = torch.broadcast_tensors(*masks)
    except RuntimeError as error:
        raise ValueError(f"the masks do not fit each other: {error}") from None
    if any(n > most for n, most in zip(every[0].shape, MOST_PLACES)):
        raise ValueError(
            f"the masks make {tuple(every[0].shape)}, and there is room for "
            f"{MOST_PLACES}: choose some, such as mask[:2, :1]."
        )
    panels = [Mask(*each) for each in zip(titles, masks, every)]
    both = reduce(and_, every)
    return [*panels, Mask("together", both, both)]


def masks_text(panels: list[Mask]) -> str:
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


@with_style
def draw_masks(panels: list[Mask], words: list[list[str]]) -> Canvas:
    """Draw masks side by side, and the words at the right."""
    page, (n, _, t, s) = Canvas(), panels[-1].every.shape
    longest = max(text_width(word) for row in words for word in row)
    room = WIDEST - min(60, longest) - 10 - SIGN * (len(panels) - 1)
    wide = min(CELL, room / len(panels) / s) * s
    down = CELL * t + APART
    signs = ["&"] * (len(panels) - 2) + ["=", ""]
    for i, (panel, sign) in enumerate(zip(panels, signs)):
        left, shape = i * (wide + SIGN), panel.stored.shape
        page.bold(left + wide / 2, -46, panel.title, wide + SIGN, size=SIZE)
        letters = [x if size > 1 else "1" for x, size in zip("BHTT", shape)]
        page.shape(left + wide / 2, -22, letters, shape)
        for sentence in range(n):
            box = left, down * sentence, wide, CELL * t
            draw_share(page, panel, sentence, box)
        page.bold(left + wide + SIGN / 2, (down * n - APART) / 2, sign)
    right = len(panels) * (wide + SIGN) - SIGN + 6
    for sentence, row in enumerate(words):
        for i, word in enumerate(row):
            y = down * sentence + CELL * (i + 0.5)
            page.word(right, y, word, 60, ha="left")
    for i, line in enumerate(NOTE):
        page.note(0, down * n + 6 + 14 * i, line, ha="left")
    return page


def draw_share(page: Canvas, panel: Mask, sentence: int, box: Box) -> None:
    """Draw a mask's share of a sentence: hatch what it hides, dot what is
    repeated, and outline what is stored."""
    left, top, wide, high = box
    n, _, t, s = panel.stored.shape
    hidden = ~panel.every[sentence, 0]
    cell, middle = wide / hidden.shape[1], left + wide / 2
    if sentence < n:
        hidden[:t, :s] = False  # is drawn with what is stored
    page.hatch(
        (left + cell * j, top + CELL * i, cell, CELL)
        for i, j in hidden.nonzero().tolist()
    )
    page.rectangle(box, fill=False, ec=GREY[0], lw=0.9, ls=":")
    if sentence >= n:
        page.arrow((middle, top - APART - 6), (middle, top + 10), zorder=3)
        return
    stored, own = panel.stored[sentence, 0], (left, top, cell * s, CELL * t)
    page.cells(own, stored.float(), KINDS["mask"], (0, 1), ~stored)
    page.rectangle(own, fill=False, ec=INK[0], lw=1.5, zorder=3)
    if CELL * t < high:
        start, end = (middle, top + CELL * t + 3), (middle, top + high - 3)
        page.arrow(start, end, zorder=3)
