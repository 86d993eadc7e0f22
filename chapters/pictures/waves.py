"""Positions as points on waves, from fast to slow."""

import math

import torch
from torch import Tensor

from pictures.canvas import Canvas
from tformer_lite.drawing.surface.matrix import number, with_minus
from tformer_lite.drawing.surface.page import Style
from tformer_lite.drawing.surface.palette import EDGE, GREY, INK
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["position_waves"]

HIGH, WIDE, CELL = 38, 194, 36  # a pair; all positions; a number: pixels
SIZE = 14  # of a wave, up and down
LOOKS = (INK[0], "-", 1.4), (GREY[0], (0, (3, 2)), 1)  # of sine and cosine


def position_waves(table: Tensor, at: int = 3) -> Picture:
    """Draw positions as points on the paper's waves: (T, C) -> a picture.

    Each row is a pair of channels: a sine and, dashed, a cosine, which come
    round after as many positions as stand at its left. Dots are the numbers
    of the table; the curves go on to three times T. A column is the vector
    of a position: that of `at` is framed, with its numbers at the right.
    Raises ValueError for an odd C and a position that is none.

    >>> position_waves(sinusoids(8, 4), at=1)
    table (8, 4): 2 pairs of waves, which come round after 6, 628 ...
    """
    if table.ndim != 2 or table.shape[1] % 2 or not 0 <= at < len(table):
        raise ValueError(
            f"table {tuple(table.shape)}, {at=}: give (T, C), C even, and the "
            "number of one of the T positions."
        )
    pairs = table.detach().cpu().double().unflatten(1, (-1, 2)).transpose(0, 1)
    page, (count, t, _) = Canvas(), pairs.shape
    speeds = [10000 ** (-i / count) for i in range(count)]
    rounds = [f"{2 * math.pi / speed:,.0f}" for speed in speeds]
    step = WIDE / (3 * t - 1)
    for i, (pair, speed) in enumerate(zip(pairs, speeds)):
        y = HIGH * (i + 0.5)
        page.bold(-14, y, rounds[i], ha="right")
        draw_pair(page, y, pair.T, speed, step)
        draw_numbers(page, y, pair[at])
    draw_frames(page, at, t, step, HIGH * count)
    numbers = ", ".join(map(number, pairs[:, at].flatten()))
    return page.picture(
        f"table {tuple(table.shape)}: {count} pairs of waves, which come "
        f"round after {', '.join(rounds)} positions. Position {at}: {numbers}."
    )


def draw_numbers(page: Canvas, y: float, pair: Tensor) -> None:
    """Draw what a position has of a pair: two numbers, at the right."""
    page.scores((WIDE + 14, y - 11, 2 * CELL, 22), pair[None], 1)
    for x, value in zip((0.5, 1.5), map(number, pair)):
        page.write(WIDE + 14 + x * CELL, y, with_minus(value))


def draw_frames(
    page: Canvas, at: int, t: int, step: float, low: float
) -> None:
    """Frame a position and its numbers, and say what is where."""
    page.frame((step * (at - 0.55), 0, 1.1 * step, low))
    page.frame((WIDE + 14, 0, 2 * CELL, low))
    for place in {0, at, t - 1}:
        weight = 700 if place == at else 400
        page.write(step * place, low + 10, str(place), weight=weight)
    page.note(step * (t - 1) / 2, low + 26, "positions, as dots")
    page.note(-14, -22, "positions", ha="right")
    page.note(-14, -8, "for a round", ha="right")
    page.bold(WIDE + 14 + CELL, -24, f"position {at}")
    for x, name, colour in (0.5, "sine", INK), (1.5, "cosine", GREY):
        page.write(WIDE + 14 + CELL * x, -9, name, color=colour[0])


@with_style
def draw_pair(
    page: Canvas, y: float, rows: Tensor, speed: float, step: float
) -> None:
    """Draw a sine and a cosine around a height, with dots at positions."""
    places = torch.arange(len(rows[0])).double()
    along = torch.linspace(0, 3 * len(places) - 1, 300)
    page.ax.plot([0, WIDE], [y, y], color=EDGE[0], lw=0.7, zorder=0)
    for row, turn, (colour, dash, lw) in zip(rows, (0, math.pi / 2), LOOKS):
        style: Style = {"color": colour, "clip_on": False}
        curve = y - SIZE * (along * speed + turn).sin()
        page.ax.plot(step * along, curve, ls=dash, lw=lw, **style)
        page.ax.plot(step * places, y - SIZE * row, "o", ms=3.5, **style)
