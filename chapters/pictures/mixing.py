"""One query on its way: scores, mask, weights, weighted values, output."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from torch import Tensor

from pictures.canvas import Canvas
from tformer_lite.drawing.surface.matrix import (
    labels_for,
    number,
    table,
    with_minus,
)
from tformer_lite.drawing.surface.page import NAME, SMALL, Style, text_width
from tformer_lite.drawing.surface.palette import (
    CENTRED,
    EDGE,
    HATCH,
    INK,
    MUTED,
)
from tformer_lite.drawing.surface.picture import Picture, styled
from tformer_lite.rounding import first_largest

__all__ = ["one_query"]

ROOM, STEP, DIGITS = 248, 40, 28  # all words; one at most; one with digits
SCORES, MASK, WEIGHTS, CELL, MOST = 64, 18, 44, 19, 160  # heights
TINY = 9  # letters of digits
BOLD: Style = {"weight": "bold", "size": SMALL}
COLOURS = {True: CENTRED.light[-1], False: CENTRED.light[0]}


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
    masked = scores.double().masked_fill(~seen, -math.inf)
    weights = masked.softmax(0).nan_to_num()
    labels = labels_for(list(words) if words else None, len(scores))
    shares = (weights[:, None] * v.double()).T
    query = Query(name, labels, scores.double(), seen, weights, shares)
    return draw_query(query).picture(query_text(query))


@dataclass(frozen=True)
class Query:
    """What one query gets: a score and a weight of each word, and each
    word's share of the output, a column of channels; `name` is whose."""

    name: str
    words: list[str]
    scores: Tensor
    mask: Tensor
    weights: Tensor
    shares: Tensor

    @property
    def output(self) -> Tensor:
        """The sum of all shares."""
        return self.shares.sum(1)


def query_text(query: Query) -> str:
    """Say what one query gets, then list the numbers of each word."""
    best = first_largest(query.weights)
    words = (
        f"{query.name}: scores ({len(query.words)},), weights, weighted "
        f"values {tuple(query.shares.shape)} and their sum, the output. The "
        "largest weight, "
        f"{number(query.weights[best])}, is that of {query.words[best]}."
    )
    if not query.mask.all():
        hidden = [w for w, s in zip(query.words, query.mask) if not s]
        words += f" Masked: {', '.join(hidden)}."
    scores = query.scores.masked_fill(~query.mask, -math.inf)
    rows = [["", *query.words, "output"]]
    rows += [["masked score", *map(number, scores), ""]]
    rows += [["weight", *map(number, query.weights), ""]]
    for i, (share, out) in enumerate(zip(query.shares, query.output)):
        rows.append([f"weight × v {i}", *map(number, share), number(out)])
    return f"{words}\n\n{table(query.name, rows)}"


@styled
def draw_query(query: Query) -> Canvas:
    """Draw one query's way from scores to its output, from top to bottom."""
    page, n = Canvas(), len(query.words)
    step, top = min(STEP, ROOM / n), 0
    draw_scores(query, row(page, query, step, (top, SCORES), "score"))
    top += SCORES + 20
    if not query.mask.all():
        draw_mask(query, row(page, query, step, (top, MASK), "+ mask"))
        top += MASK + 10
    draw_weights(query, row(page, query, step, (top, WEIGHTS), "weight"))
    page.note(step * n + 6, top + WEIGHTS / 2, "sum 1", ha="left")
    top += WEIGHTS + 26
    draw_values(page, query, step, top)
    return page


def row(
    page: Canvas, query: Query, step: float, box: tuple[int, int], name: str
) -> Axes:
    """Give axes to a step of the way, named at the left; the first has the
    words above it."""
    (top, high), n = box, len(query.words)
    ax = page.chart((0, top, step * n, high))
    ax.set(xlim=(-0.5, n - 0.5), xticks=[], yticks=[])
    page.write(-8, top + high / 2, name, ha="right", **BOLD)
    if top:
        return ax
    widest = max(text_width(word, SMALL, "bold") for word in query.words)
    turn: Style = {"rotation": 60, "ha": "left", "rotation_mode": "anchor"}
    ax.set_xticks(range(n), query.words, **turn if widest > step else {})
    ax.tick_params(pad=16)
    ax.xaxis.tick_top()
    for word, seen in zip(ax.get_xticklabels(), query.mask):
        word.set_color((INK if seen else MUTED)[0])
    ax.get_xticklabels()[int(query.weights.argmax())].set_weight("bold")
    return ax


def digits(ax: Axes, values: Tensor) -> list[str]:
    """Write numbers, if there is room for them below each other's words."""
    if ax.bbox.width / ax.figure.dpi * 72 < DIGITS * len(values):
        return [""] * len(values)
    return [with_minus(number(value)) for value in values]


def draw_scores(query: Query, ax: Axes) -> None:
    """Draw each score as a bar, up or down."""
    finite = query.scores.masked_fill(query.scores.isinf(), 0).tolist()
    colours = [COLOURS[score > 0] for score in finite]
    style: Style = {"width": 0.7, "color": colours, "ec": EDGE[0], "lw": 0.7}
    ax.set_ylim(min(-1e-9, *finite), max(0, *finite))
    bars = ax.bar(range(len(finite)), finite, **style)
    labels = ax.bar_label(bars, digits(ax, query.scores), size=TINY, padding=2)
    ax.axhline(0, color=EDGE[0], lw=0.8)
    for bar, label, seen in zip(bars, labels, query.mask):
        label.set_color((INK if seen else MUTED)[0])
        if not seen:
            bar.set(fill=False, hatch="////", ec=HATCH[0], lw=0)


def draw_mask(query: Query, ax: Axes) -> None:
    """Write what the mask adds: 0, or −∞ on hatching."""
    places = (~query.mask).nonzero().flatten().tolist()
    style: Style = {"fill": False, "hatch": "////", "ec": HATCH[0], "lw": 0}
    ax.bar(places, 1, width=0.8, **style)
    ax.set_ylim(0, 1)
    for i, seen in enumerate(query.mask.tolist()):
        middle: Style = {"ha": "center", "va": "center", "color": MUTED[0]}
        ax.text(i, 0.45, "0" if seen else "−∞", size=SMALL, **middle)


def draw_weights(query: Query, ax: Axes) -> None:
    """Draw each weight as a part of a box that stands for 1."""
    places, style = range(len(query.words)), {"width": 0.7, "ec": EDGE[0]}
    ax.bar(places, 1, fill=False, lw=0.7, **style)
    ax.bar(
        places, query.weights.tolist(), color=COLOURS[True], lw=0.7, **style
    )
    ax.set_ylim(0, 1)
    ax.set_xticks(places, digits(ax, query.weights), size=TINY)
    ax.get_xticklabels()[int(query.weights.argmax())].set_weight("bold")


def draw_values(page: Canvas, query: Query, step: float, top: float) -> None:
    """Draw each weighted value as a column of cells, and their sum."""
    d, n = query.shares.shape
    cell = min(CELL, MOST / d)
    most = max(query.output.abs().max(), query.shares.abs().max()).item() or 1
    limits, high = (-most, most), cell * d
    page.write(-8, top + high / 2 - 7, "weight", ha="right", **BOLD)
    page.write(-8, top + high / 2 + 7, "× v", ha="right", **BOLD)
    right = step * n + 20
    columns = [
        (step * i + 1, step - 2, x) for i, x in enumerate(query.shares.T)
    ]
    for left, wide, values in [*columns, (right, 32, query.output)]:
        box = left, top, wide, high
        page.cells(box, values[:, None], CENTRED, limits)
        for i, value in enumerate(values.tolist()):
            if cell > 14 and wide > DIGITS:
                x, y = left + wide / 2, top + cell * (i + 0.5)
                page.write(x, y, with_minus(number(value)), size=TINY)
    page.frame((right - 2, top - 2, 36, high + 4))
    page.write(right + 16, top - 12, "output", **BOLD)
    page.write(right - 10, top + high / 2, "=", weight="bold", size=NAME + 2)
