"""Scaling: by how much scores grow between a product and its softmax, and
what is added to them there."""

from collections.abc import Iterator
from math import prod

import torch
from torch import Tensor

from shapewatch.tracing.questions.attention import (
    SCALES,
    SUMS,
    AttentionSteps,
    Data,
)
from shapewatch.tracing.record.tensors import tensors


def bias_at(data: Data, one: AttentionSteps) -> int:
    """Find the step that adds what no product made; or the softmax."""
    for i, n in one.way:
        if data.names[i] in SUMS and i <= one.masked:
            others = [m for m in range(len(data.sources[i])) if m != n]
            found = [m for m in others if is_bias(data.read(i, m))]
            if any(is_fixed(data, data.sources[i][m]) for m in found):
                return i
    return one.weights


def is_fixed(data: Data, j: int | None) -> bool:
    """Whether nothing that learns had a part in what a step made."""
    if j is None:
        return False
    given = zip(data.sources[j], tensors(data.given.get(j, ())))
    return all(
        not x.requires_grad if i is None else is_fixed(data, i)
        for i, x in given
    )


def growth(data: Data, one: AttentionSteps, start: int | None = None) -> float:
    """By how much the scores are larger than the product, or than they were
    at a later step."""
    begin = one.product if start is None else start
    alpha = 1 if start else data.given[one.product][1].get("alpha", 1)
    return alpha * prod(
        ratio(data.kept[i][0], data.read(i, n))
        for i, n in one.way
        if begin < i <= one.masked
        if data.names[i] in SCALES and not data.masks(i)
    )


def added(data: Data, one: AttentionSteps) -> Iterator[Tensor]:
    """Find what is added to the scores."""
    for i, n in one.way:
        if data.names[i] in SUMS and i <= one.masked:
            reads = range(len(data.sources[i]))
            yield from (data.read(i, m) for m in reads if m != n)


def is_bias(x: Tensor) -> bool:
    """Whether anything but 0 and what hides is in a tensor of decimals."""
    return bool(((x != 0) & (x > -1e3)).any()) and x.dtype != torch.bool


def ratio(large: Tensor, small: Tensor) -> float:
    """How many times larger the numbers of a tensor are, as a rule."""
    times = (large.double() / small.double()).abs()
    return times[times.isfinite() & (times > 0)].median().item()
