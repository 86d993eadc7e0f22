"""Thumbs: the tensors of a traced model, each with its numbers, and with what
is learned and computed to make it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Shape
from shapewatch.tracing.questions.attention import (
    AttentionSteps,
    Data,
    attention_tensors,
)
from tformer_lite.drawing.diagram.anatomy import Part, Side, stops_of
from tformer_lite.drawing.surface.palette import CENTRED, SHARE, Kind

HEADS = 3  # no more are drawn
LABELS = {"positions": "embed + place", "residual": "sum", "head": "logits"}
Costs = dict[str, Tensor]
NO_COST = torch.zeros(2, dtype=torch.long)


@dataclass(frozen=True, eq=False)
class Thumb:
    """A tensor of the first example: its label and shape; its matrices, or
    the words and numbers of ids; how many heads are beside each other in a
    matrix; what is learned and what is computed to make it: parameters and
    FLOPs; and, in a block, the number of its sublayer."""

    label: str
    shape: Shape
    matrices: Sequence[Tensor] = ()
    words: Sequence[tuple[str, str]] = ()
    kind: Kind = CENTRED
    heads: int = 1
    cost: Tensor = NO_COST
    sublayer: int | None = None


def thumbs_of(
    seen: Trace, side: Side, words: Sequence[str] = ()
) -> Iterator[Thumb]:
    """Give the thumbs of a side, in order; `words` are those of its ids.

    Raises KeyError for what was not kept: trace with keep=True.
    """
    data, costs = Data(seen), costs_of(seen)
    before = NO_COST
    for part in side.every:
        number, label = sublayer_of(part, side), LABELS.get(part.name)
        if part.name == "ids":
            ids = data.received(part.step, 0)[0].tolist()
            both = [*zip([*words, *[""] * len(ids)], map(str, ids))]
            yield Thumb("ids", part.shape, words=both)
        elif part.name.endswith("attention"):
            yield from in_attention(seen, data, costs, part, number)
        elif part.name == "feed_forward":
            yield from in_feed_forward(data, costs, part, number)
        elif part.name == "embedding" and side.part("positions"):
            before = costs[part.path]
        else:
            cost = NO_COST if part.name == "residual" else costs[part.path]
            value = [data.kept[part.step][0][0]]
            label, cost = label or part.label, cost + before
            yield Thumb(label, part.shape, value, cost=cost, sublayer=number)
            before = NO_COST


def costs_of(seen: Trace) -> Costs:
    """Give the parameters and the FLOPs of each module."""
    return {row.module: torch.tensor(row[2:4]) for row in seen.flops().rows}


def sublayer_of(part: Part, side: Side) -> int | None:
    """Number the sublayer of a block that a part belongs to."""
    inside = [p for p in side.every if p.path.startswith(side.block)]
    layers = [p for p in inside if p.name not in ("norm", "residual")]
    if part in layers:
        return layers.index(part)
    found = re.search(r"residuals\.(\d)", part.path)
    return int(found[1]) if found and part in inside else None


def in_attention(
    seen: Trace, data: Data, costs: Costs, part: Part, number: int | None
) -> Iterator[Thumb]:
    """Give the thumbs inside an attention, in its first heads."""
    one = next(x for x in data.attentions() if x.path.startswith(part.path))
    heads = heads_of(data, one)
    found, output = attention_tensors(one, data), costs[f"{part.path}.output"]
    product = torch.tensor([0, 2 * found.scores.numel() * heads[0].shape[-1]])
    rest = costs[part.path] - output - 2 * product
    masked, weights = found.masked[0], found.weights[0]
    weights = weights.masked_fill(masked.isneginf(), -torch.inf)
    mixed, last = (data.kept[i][0][0] for i in (one.mixed, part.step))
    rows: dict[str, tuple[str, Sequence[Tensor], Tensor]] = {
        "heads": ("q, k, v", [*map(joined, heads)], rest),
        "scores": ("q kᵀ ÷ √D", [*found.scores[0]], product),
        "mask": ("+ mask", [*masked], NO_COST),
        "softmax": ("softmax", [*weights], NO_COST),
        "joined": ("weights @ v", [joined(mixed)], product),
        "output": ("output", [last], output),
    }
    for stop in stops_of(seen, part.path):
        if stop.name in rows:
            label, matrices, cost = rows[stop.name]
            kind = SHARE if stop.name == "softmax" else CENTRED
            beside = len(mixed) if stop.name in ("heads", "joined") else 1
            few, more = matrices[:HEADS], (beside, cost, number)
            yield Thumb(label, stop.shape, few, (), kind, *more)


def heads_of(data: Data, one: AttentionSteps) -> list[Tensor]:
    """Give queries, keys and values: (H, T, D) each."""
    if one.fused:
        return [x[0] for x in data.given[one.mixed][0][:3]]
    q, k = (data.read(one.product, n)[0] for n in (0, 1))
    return [q, k.mT, data.read(one.mixed, -1)[0]]


def in_feed_forward(
    data: Data, costs: Costs, part: Part, number: int | None
) -> Iterator[Thumb]:
    """Give the thumbs of a feed-forward layer: hidden, and what it gives."""
    steps = data.steps
    last = max(
        i
        for i, step in enumerate(steps)
        if step.name == "linear" and step.visit.path.startswith(part.path)
    )
    output = costs[steps[last].visit.path]
    hidden, cost = data.read(last, 0)[0], costs[part.path] - output
    shape = data.calls.axes[last][0][0]
    yield Thumb("hidden", shape, [hidden], cost=cost, sublayer=number)
    value = [data.kept[part.step][0][0]]
    yield Thumb("output", part.shape, value, cost=output, sublayer=number)


def joined(heads: Tensor) -> Tensor:
    """Put heads beside each other: (H, T, D) -> (T, C)."""
    return heads.transpose(0, 1).flatten(1)
