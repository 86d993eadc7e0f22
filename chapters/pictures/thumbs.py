"""Thumbs: the tensors of a traced model, each with its numbers, and with what
is learned and computed to make it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Shape
from shapewatch.tracing.questions.flow import Data
from tformer_lite.drawing.diagram.anatomy import Part, Side, stops_of
from tformer_lite.drawing.surface.palette import AROUND_ZERO, SHARE, Kind

FEW_HEADS = 3  # no more are drawn
LABELS = {"positions": "embed + place", "residual": "sum", "head": "logits"}
STOP_LABELS = {
    "heads": "q, k, v",
    "scores": "q kᵀ ÷ √D",
    "mask": "+ mask",
    "softmax": "softmax",
    "joined": "weights @ v",
    "output": "output",
}
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
    sublayer: int | None = None
    cost: Tensor = NO_COST
    kind: Kind = AROUND_ZERO
    heads: int = 1
    words: Sequence[tuple[str, str]] = ()


def thumbs_of(
    seen: Trace, side: Side, words: Sequence[str] = ()
) -> Iterator[Thumb]:
    """Give the thumbs of a side, in order; `words` are those of its ids.

    Raises KeyError for what was not kept: trace with keep=True.
    """
    data, costs, before = Data(seen._calls), costs_of(seen), NO_COST
    for part in side.every:
        number = sublayer_of(part, side)
        if part.name == "ids":
            ids = data.received(part.step, 0)[0].tolist()
            both = [*zip([*words, *[""] * len(ids)], map(str, ids))]
            yield Thumb("ids", part.shape, words=both)
        elif part.name.endswith("attention"):
            yield from attention_thumbs(seen, data, part, number)
        elif part.name == "feed_forward":
            yield from feed_forward_thumbs(data, costs, part, number)
        elif part.name == "embedding" and side.part("positions"):
            before = costs[part.path]
        else:
            own = NO_COST if part.name == "residual" else costs[part.path]
            label, value = (
                LABELS.get(part.name, part.label),
                data.kept[part.step],
            )
            yield Thumb(label, part.shape, [value[0][0]], number, own + before)
            before = NO_COST


def costs_of(seen: Trace) -> dict[str, Tensor]:
    """Give the parameters and the FLOPs of each module."""
    return {row.module: torch.tensor(row[2:4]) for row in seen.flops().rows}


def sublayer_of(part: Part, side: Side) -> int | None:
    """Number the sublayer of a block that a part belongs to."""
    inside = [p for p in side.every if p.path.startswith(side.block)]
    layers = [p for p in inside if p.name not in ("norm", "residual")]
    if part in layers:
        return layers.index(part)
    if part.name == "residual":
        return [p for p in inside if p.name == "residual"].index(part)
    found = re.search(r"norms\.(\d)", part.path)
    return int(found[1]) if found and part in inside else None


def attention_thumbs(
    seen: Trace, data: Data, part: Part, number: int | None
) -> Iterator[Thumb]:
    """Give the thumbs inside an attention, in its first heads."""
    found = next(x for x in seen.attention() if x.path.startswith(part.path))
    *operands, mixed = (x[0] for x in found[5:] if x is not None)
    masked = found.masked[0]
    values: dict[str, Iterable[Tensor]] = {
        "heads": map(beside, operands),
        "scores": found.scores[0],
        "mask": masked,
        "softmax": found.weights[0].masked_fill(masked.isneginf(), -torch.inf),
        "joined": [beside(mixed)],
        "output": data.kept[part.step][0][:1],
    }
    costs = costs_of(seen)
    output, n = costs[f"{part.path}.output"], 2 * found.scores.numel()
    product = torch.tensor([0, n * operands[0].shape[-1]])
    rest = costs[part.path] - output - 2 * product
    costs = {"heads": rest, "scores": product, "joined": product}
    costs["output"] = output
    stops = (x for x in stops_of(seen, part.path) if x.name in values)
    for stop in stops:
        few, cost = [*values[stop.name]], costs.get(stop.name, NO_COST)
        kind = SHARE if stop.name == "softmax" else AROUND_ZERO
        heads = len(mixed) if stop.name in ("heads", "joined") else 1
        label, few = STOP_LABELS[stop.name], few[:FEW_HEADS]
        yield Thumb(label, stop.shape, few, number, cost, kind, heads)


def feed_forward_thumbs(
    data: Data, costs: dict[str, Tensor], part: Part, number: int | None
) -> Iterator[Thumb]:
    """Give the thumbs of a feed-forward layer: hidden, and what it gives."""
    steps = [step.visit.path for step in data.steps]
    linear = [i for i, step in enumerate(data.steps) if step.name == "linear"]
    last = [i for i in linear if steps[i].startswith(part.path)][-1]
    output, hidden = costs[steps[last]], [data.read(last, 0)[0]]
    shape, cost = data.calls.axes[last][0][0], costs[part.path] - output
    yield Thumb("hidden", shape, hidden, number, cost)
    value = [data.kept[part.step][0][0]]
    yield Thumb("output", part.shape, value, number, output)


def beside(heads: Tensor) -> Tensor:
    """Put heads beside each other: (H, T, D) -> (T, C)."""
    return heads.transpose(0, 1).flatten(1)
