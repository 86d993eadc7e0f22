"""Operands: the matrices that an attention multiplies, its queries and keys,
its weights and values, laid out as its weights are."""

import re
from collections import defaultdict

import torch
from torch import Tensor

from shapewatch.tracing.questions.flow import AttentionSteps, Data

RTOL, ATOL = 1e-3, 1e-4
# Matrices (..., n, k) and (..., k, m), and what comes of them: (..., n, m).
Product = tuple[Tensor, ...]


def attention_operands(
    data: Data, steps: AttentionSteps, scores: Tensor, weights: Tensor
) -> tuple[Tensor | None, ...]:
    """Give queries (..., T, D), keys and values (..., S, D), and what the
    weights mix of the values; each None where it cannot be told. S is the
    axis of the weights that is mixed away, their last or the one before;
    where that is not seen, the one along which they sum to 1."""
    if weights.ndim < 2:
        return None, None, None, None
    for rows, shares in (scores, weights), (scores.mT, weights.mT):
        values, mixed = values_and_mixture(data, steps, shares)
        if values is not None:
            return (*queries_and_keys(data, steps, rows), values, mixed)
    by_column = not rows_sum_to_1(weights) and rows_sum_to_1(weights.mT)
    rows = scores.mT if by_column else scores
    return (*queries_and_keys(data, steps, rows), None, None)


def rows_sum_to_1(weights: Tensor) -> bool:
    """Whether each row sums to 1, or to 0 where it has no key."""
    sums = weights.float().sum(-1)
    return bool((((sums - 1).abs() < 1e-3) | (sums == 0)).all())


def queries_and_keys(
    data: Data, steps: AttentionSteps, scores: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the queries and keys whose products the scores are: times a
    number, the same for all; or what the model makes of a product."""
    if product := operands_of(data, steps.product):
        left, right, result = product
        sides = left, right.mT
        for rows, columns in (sides, sides[::-1]):
            q = lay_out(rows, scores, -2)
            k = lay_out(columns, scores, -1)
            if q is not None and k is not None:
                same_shape = result.shape == scores.shape
                in_order = rows is sides[0] and same_shape
                if in_order or scale_between(q, k, scores):
                    return q, k
    return None, None


def scale_between(queries: Tensor, keys: Tensor, scores: Tensor) -> float:
    """Give the number by which products of queries and keys are multiplied
    to be the scores; 0 if there is none."""
    products, scores = queries.double() @ keys.double().mT, scores.double()
    square = (products * products).sum()
    factor = float((products * scores).sum() / square) if square else 0.0
    size = float(scores.abs().max()) if scores.numel() else 0.0
    same = torch.allclose(factor * products, scores, RTOL, ATOL * size)
    return factor if same else 0.0


def values_and_mixture(
    data: Data, steps: AttentionSteps, weights: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the values that the weights mix, and what comes of it: what they
    explain, the right way round."""
    if product := operands_of(data, steps.mixed):
        left, right, result = product
        for side in (right, left.mT):
            v = lay_out(side, weights, -1)
            if v is not None:
                heads = weights @ v.to(weights)
                if any(agree(heads, x) for x in (result, result.mT)):
                    return v, heads
    return None, None


def agree(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors hold the same numbers, in the same order."""
    mine, theirs = mine.reshape(-1), theirs.reshape(-1).to(mine)
    same_size = len(mine) == len(theirs)
    return same_size and torch.allclose(mine, theirs, RTOL, ATOL)


def lay_out(x: Tensor, like: Tensor, axis: int) -> Tensor | None:
    """Give a matrix the axes in front that another has, and as many rows as
    that has along an axis; None if it does not fit."""
    front, n = like.shape[:-2], like.shape[axis]
    if x.shape[-2] != n:
        return None
    if x.shape[:-2].numel() == front.numel():
        return x.reshape(*front, n, x.shape[-1])
    ahead = reversed(x.shape[:-2]), reversed(front)
    fits = x.ndim <= like.ndim and all(m in (1, n) for m, n in zip(*ahead))
    return x.expand(*front, n, x.shape[-1]) if fits else None


# Whose an axis is: the left factor's, the right one's, the result's.
BATCH, SUM_AXES, OWN = "LRM", "LR", ("LM", "RM")


class EinsumProduct:
    """A product as einsum writes it: its axes have letters.

    `axes` are those of the left factor, the right one, and the result; each
    is known by its number. `kinds` has their axes by whose they are, sorted
    as where scores stand, or their weights: in the one of number `scores`.
    """

    def __init__(self, data: Data, i: int, scores: int):
        first = data.given[i][0][0]
        equation = first if isinstance(first, str) else "...mk,...kn->...mn"
        self.axes = re.split(",|->", equation)
        self.data, self.step = data, i
        self.kinds: defaultdict[str, str] = defaultdict(str)
        every = "".join((self.axes[scores], *self.axes))
        for axis in dict.fromkeys(re.findall(r"\.\.\.|\w", every)):
            whose = (w for w, axes in zip("LRM", self.axes) if axis in axes)
            self.kinds["".join(whose)] += axis

    def matrix(self, x: Tensor, n: int, *kinds: str) -> Tensor:
        """Sort the axes of a factor, or of the result, by their kinds."""
        ordered = "".join(self.kinds[kind] for kind in kinds)
        return torch.einsum(f"{self.axes[n]}->{ordered}", x)


def operands_of(data: Data, i: int) -> Product | None:
    """Give what a step multiplies; None if that is no two matrices."""
    is_einsum, first = data.names[i] == "einsum", data.given[i][0][0]
    if len(data.sources[i]) < 2 or (is_einsum and not isinstance(first, str)):
        return None
    a, b = (data.read(i, n).detach() for n in (-2, -1))
    if not is_einsum:
        return (a, b, data.kept[i][0]) if min(a.ndim, b.ndim) > 1 else None
    product, (left, right) = EinsumProduct(data, i, 2), OWN
    if any(len(product.kinds[x]) != 1 for x in (left, SUM_AXES, right)):
        return None
    return (
        product.matrix(a, 0, BATCH, left, SUM_AXES),
        product.matrix(b, 1, BATCH, SUM_AXES, right),
        product.matrix(data.kept[i][0], 2, BATCH, left, right),
    )
