"""Factors: the queries, keys and values of an attention, as matrices."""

from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.questions.attention import AttentionSteps, Data

RTOL, ATOL = 1e-3, 1e-4


class Product(NamedTuple):
    """Matrices (..., n, k) and (..., k, m), and what comes of them, laid out
    as (..., n, m)."""

    left: Tensor
    right: Tensor
    made: Tensor


def attention_operands(
    data: Data, one: AttentionSteps, scores: Tensor, weights: Tensor
) -> tuple[Tensor | None, ...]:
    """Give queries (..., T, D), keys and values (..., S, D), and what the
    weights mix of the values; each None where it cannot be told, or was not
    kept. S is the axis of the weights that is mixed away, their last or the
    one before; where that is not seen, the one along which they sum to 1."""
    if weights.ndim < 2:
        return None, None, None, None
    ways = (scores, weights), (scores.mT, weights.mT)
    for way, shares in ways:
        values, made = values_and_mixture(data, one, shares)
        if values is not None:
            return (*queries_and_keys(data, one, way), values, made)
    turned = not rows_sum_to_1(weights) and rows_sum_to_1(weights.mT)
    return (*queries_and_keys(data, one, ways[turned][0]), None, None)


def rows_sum_to_1(weights: Tensor) -> bool:
    """Whether each row sums to 1, or to 0 where it has no key."""
    sums = weights.float().sum(-1)
    return bool((((sums - 1).abs() < 1e-3) | (sums == 0)).all())


def queries_and_keys(
    data: Data, one: AttentionSteps, scores: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the queries and keys whose products the scores are: times a
    number, the same for all; or what the model makes of a product."""
    product = operands_of(data, one.product)
    if product is None:
        return None, None
    sides = product.left, product.right.mT
    for rows, columns in (sides, sides[::-1]):
        q, k = lay_out(rows, scores, -2), lay_out(columns, scores, -1)
        if q is not None and k is not None:
            straight = rows is sides[0] and product.made.shape == scores.shape
            if straight or scale_between(q, k, scores):
                return q, k
    return None, None


def scale_between(queries: Tensor, keys: Tensor, scores: Tensor) -> float:
    """Give the number by which products of queries and keys are multiplied
    to be the scores; 0 if there is none."""
    products = queries.double() @ keys.double().mT
    given = scores.double()
    many = (products * products).sum()
    share = float((products * given).sum() / many) if many else 0.0
    size = float(given.abs().max()) if given.numel() else 0.0
    same = torch.allclose(share * products, given, RTOL, ATOL * size)
    return share if same else 0.0


def values_and_mixture(
    data: Data, one: AttentionSteps, weights: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Find the values that the weights mix, and what comes of it: what they
    explain, the right way round."""
    product = operands_of(data, one.mixed)
    if product is None:
        return None, None
    for side in (product.right, product.left.mT):
        v = lay_out(side, weights, -1)
        if v is not None:
            heads = weights @ v.to(weights)
            if any(agree(heads, x) for x in (product.made, product.made.mT)):
                return v, heads
    return None, None


def agree(mine: Tensor, theirs: Tensor) -> bool:
    """Whether two tensors hold the same numbers, in the same order."""
    mine, theirs = mine.reshape(-1), theirs.reshape(-1).to(mine)
    return len(mine) == len(theirs) and torch.allclose(
        mine, theirs, RTOL, ATOL
    )


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


def operands_of(data: Data, i: int) -> Product | None:
    """Give what a step multiplies; None if it was not kept."""
    try:
        a, b = (data.read(i, n).detach() for n in (-2, -1))
        made = data.kept[i][0]
    except (KeyError, IndexError):
        return None
    if data.names[i] == "einsum":
        return by_letters(data.given[i][0][0], a, b, made)
    return Product(a, b, made) if min(a.ndim, b.ndim) > 1 else None


def by_letters(
    equation: object, a: Tensor, b: Tensor, made: Tensor
) -> Product | None:
    """Lay the tensors of an einsum out as matrices; None where it is no
    product of matrices."""
    if not isinstance(equation, str):
        return None
    dots = "..." if "..." in equation else ""
    plain = equation.replace(" ", "").replace("...", "")
    given, _, out = plain.partition("->")
    first, _, second = given.partition(",")
    shared = {*first} & {*second}
    front = "".join(x for x in out if x in shared)
    groups = {*first} - shared, shared - {*out}, {*second} - shared
    if any(len(group) != 1 for group in groups):
        return None
    n, k, m = map("".join, groups)
    return Product(
        torch.einsum(f"{dots}{first}->{dots}{front}{n}{k}", a),
        torch.einsum(f"{dots}{second}->{dots}{front}{k}{m}", b),
        torch.einsum(f"{dots}{out}->{dots}{front}{n}{m}", made),
    )
