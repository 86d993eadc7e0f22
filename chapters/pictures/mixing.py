"""One query on its way: scores, mask, weights, weighted values, output."""

import math
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from torch import Tensor

from pictures.canvas import Canvas, largest
from tformer_lite.drawing.surface.matrix import (
    labels_for,
    number,
    table,
    with_minus,
)
from tformer_lite.drawing.surface.page import NAME, Style
from tformer_lite.drawing.surface.palette import AROUND_ZERO, EDGE, GREY, HATCH
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.rounding import first_largest

__all__ = ["one_query"]

ROOM, STEP, DIGITS = 294, 40, 36  # all words; one at most; one with digits
SCORES, WEIGHTS, CELL, CELLS = 64, 44, 19, 160  # heights


def one_query(
    scores: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    words: Sequence[str] | None = None,
    name: str = "one query",
) -> Picture:
    """Draw how one query mixes values: (S), (S, D), (S) -> a picture.

    Below each word stand its score, 0 or −∞ of the mask, its weight and its
    weighted value, with their numbers; at the right the sum of these, the
    output. Where `mask` is False, or a score −∞, the word is hidden. `name`
    says whose query it is. Raises ValueError for shapes that do not fit.

    >>> one_query(torch.tensor([0.0, 1.0]), torch.eye(2), name="of not")
    of not: scores (2,), weights, weighted values (2, 2) and their sum, ...
    """
    scores, v = torch.as_tensor(scores).detach(), torch.as_tensor(v).detach()
    if scores.ndim != 1 or v.ndim != 2 or len(scores) != len(v) or not len(v):
        raise ValueError(
            f"scores {tuple(scores.shape)} and v {tuple(v.shape)} must be (S) "
            "and (S, D): choose one query, scores[0, 1, 4] and v[0, 1]."
        )
    seen = ~scores.isneginf()
    if mask is not None:
        if mask.shape != scores.shape:
            raise ValueError(
                f"mask {tuple(mask.shape)}, scores {tuple(scores.shape)}: one "
                "of each word."
            )
        seen = seen & mask.bool()
    words = labels_for(list(words) if words else None, len(scores))
    query = Query(name, words, scores.double(), seen, v.double())
    return draw_query(query).picture(query_text(query))


class Query:
    """What one query gets: a score and a weight of each word, and each
    word's share of the output, a column of channels; `name` is whose."""

    def __init__(
        self,
        name: str,
        words: list[str],
        scores: Tensor,
        mask: Tensor,
        v: Tensor,
    ):
        self.name, self.words, self.scores, self.mask = (
            name,
            words,
            scores,
            mask,
        )
        self.masked = scores.masked_fill(~mask, -math.inf)
        self.weights = self.masked.softmax(0).nan_to_num()
        self.shares = (self.weights[:, None] * v).T
        self.output, self.best = (
            self.shares.sum(1),
            first_largest(self.weights),
        )


def query_text(query: Query) -> str:
    """Say what one query gets, then list the numbers of each word."""
    text = (
        f"{query.name}: scores ({len(query.words)},), weights, weighted "
        f"values {tuple(query.shares.shape)} and their sum, the output. The "
        f"largest weight, {number(query.weights[query.best])}, is that of "
        f"{query.words[query.best]}."
    )
    if not query.mask.all():
        hidden = [w for w, s in zip(query.words, query.mask) if not s]
        text += f" Masked: {', '.join(hidden)}."
    rows = [["", *query.words, "output"]]
    rows += [["masked score", *map(number, query.masked), ""]]
    rows += [["weight", *map(number, query.weights), ""]]
    for i, (share, out) in enumerate(zip(query.shares, query.output)):
        rows.append([f"weight × v {i}", *map(number, share), number(out)])
    return f"{text}\n\n{table(query.name, rows)}"


@with_style
def draw_query(query: Query) -> Canvas:
    """Draw one query's way from scores to its output, from top to bottom."""
    page, n = Canvas(), len(query.words)
    wide, top = min(STEP * n, ROOM), 0
    steps = {"score": (SCORES, 20, draw_scores), "+ mask": (18, 10, draw_mask)}
    steps |= {"weight": (WEIGHTS, 26, draw_weights)}
    if query.mask.all():
        del steps["+ mask"]
    for name, (high, gap, draw) in steps.items():
        ax = page.chart((0, top, wide, high))
        ax.set(xlim=(-0.5, n - 0.5), ylim=(0, 1), xticks=[], yticks=[])
        side = wide + 6, top + high / 2
        page.write(*side, name, ha="left", weight="bold")
        draw(query, ax, wide >= DIGITS * n)
        top += high + gap
    page.note(wide + 6, top - 12 - WEIGHTS / 2, "sum 1", ha="left")
    draw_weighted_values(page, query, wide / n, top)
    return page


def digits(values: Tensor, room: bool) -> list[str]:
    """Write numbers, if there is room for them side by side."""
    return [with_minus(number(value)) * room for value in values]


def draw_scores(query: Query, ax: Axes, room: bool) -> None:
    """Draw each score as a bar, up or down, and the words above."""
    finite = query.scores.masked_fill(query.scores.isinf(), 0).tolist()
    colours = [AROUND_ZERO.light[2 * (score > 0)] for score in finite]
    style: Style = {"width": 0.7, "color": colours, "ec": EDGE[0], "lw": 0.7}
    ax.set_ylim(min(-1e-9, *finite), max(0, *finite))
    bars = ax.bar(range(len(finite)), finite, **style)
    written = digits(query.scores, room)
    labels = ax.bar_label(bars, written, padding=2)
    ax.axhline(0, color=EDGE[0], lw=0.8)
    turn: Style = {"rotation": 60, "ha": "left", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(finite)), query.words, **turn)
    ax.tick_params(pad=16)
    ax.xaxis.tick_top()
    words = ax.get_xticklabels()
    words[query.best].set_fontweight("bold")
    for bar, label, word, seen in zip(bars, labels, words, query.mask):
        if not seen:
            bar.set(fill=False, hatch="////", ec=HATCH[0], lw=0)
            label.set_color(GREY[0])
            word.set_color(GREY[0])


def draw_mask(query: Query, ax: Axes, room: bool) -> None:
    """Write what the mask adds: 0, or −∞ on hatching."""
    places = (~query.mask).nonzero().flatten().tolist()
    style: Style = {"fill": False, "hatch": "////", "ec": HATCH[0], "lw": 0}
    ax.bar(places, 1, width=0.8, **style)
    middle: Style = {"ha": "center", "va": "center", "color": GREY[0]}
    for i, seen in enumerate(query.mask):
        ax.text(i, 0.45, "0" if seen else "−∞", **middle)


def draw_weights(query: Query, ax: Axes, room: bool) -> None:
    """Draw each weight as a part of a box that stands for 1."""
    places = range(len(query.words))
    style: Style = {"width": 0.7, "ec": EDGE[0], "lw": 0.7}
    ax.bar(places, 1, fill=False, **style)
    weights = query.weights.tolist()
    ax.bar(places, weights, color=AROUND_ZERO.light[-1], **style)
    ax.set_xticks(places, digits(query.weights, room))
    ax.get_xticklabels()[query.best].set_fontweight("bold")


def draw_weighted_values(
    page: Canvas, query: Query, step: float, top: float
) -> None:
    """Draw each weighted value as a column of cells, and their sum."""
    d, n = query.shares.shape
    cell, limit = min(CELL, CELLS / d), largest(query.output, query.shares)
    middle, right = top + cell * d / 2, step * n + 20
    columns = [(step * i + 1, step - 2) for i in range(n)] + [(right, DIGITS)]
    for (left, wide), values in zip(columns, [*query.shares.T, query.output]):
        page.scores((left, top, wide, cell * d), values[:, None], limit)
        room = cell > 14 and wide > DIGITS - 3
        for i, text in enumerate(digits(values, room)):
            y = top + cell * (i + 0.5)
            page.write(left + wide / 2, y, text)
    page.frame((right - 2, top - 2, DIGITS + 4, cell * d + 4))
    low = top + cell * d + 12
    page.write(step * n / 2, low, "weight × v", weight="bold")
    page.write(right + DIGITS / 2, low, "output", weight="bold")
    page.bold(right - 10, middle, "=", size=NAME + 2)
