"""One query on its way: scores, mask, weights, weighted values, output."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pictures.mixing_page import Query, draw_query
from tformer_lite.drawing.surface.matrix import labels_for, number, table
from tformer_lite.drawing.surface.page import NARROW, WIDE
from tformer_lite.drawing.surface.palette import DARK, KINDS
from tformer_lite.drawing.surface.picture import Picture
from tformer_lite.rounding import first_largest

__all__ = ["one_query"]


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
    wide, small = (draw_query(query, width) for width in (WIDE, NARROW))
    dark = DARK | KINDS["scores"].counterparts()
    return Picture(wide, describe(query), dark, small)


def describe(query: Query) -> str:
    """Say what one query gets, then list the numbers of each word."""
    best = first_largest(query.weights)
    words = (
        f"{query.said}: scores ({len(query.words)},), weights, weighted "
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
    return f"{words}\n\n{table(query.said, rows)}"
