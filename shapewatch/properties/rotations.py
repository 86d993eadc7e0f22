"""Rotations: positions that enter queries and keys, and not their words."""

from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.attention import first_matrix, how_many
from shapewatch.properties.biases import wrong_bias
from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import (
    BROKEN,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.mixing import followed
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.variants import same_word

WORDS = "With the same word everywhere,"
NONE = "No attention rotates queries or keys by their positions."
LOOK = "Rotate both in the same way, so that only the distance is left."
VALUES = (
    "values are rotated as queries and keys are: what is mixed of them then "
    "depends on places, unless it is rotated back."
)
SPEED = (
    "all pairs of channels rotate by one angle from position to position: "
    "each has a frequency of its own. Look at the division in its exponent."
)
PAIRS = (
    "Are the same pairs of channels rotated (neighbours, or halves), by the "
    "same angles, and are these numbers of positions?"
)


class Placed(NamedTuple):
    """What an attention makes of one word at all positions, where positions
    enter it: queries, keys and their products (B, H, T, D) or (B, H, T, T).
    """

    path: str
    q: Tensor
    k: Tensor
    v: Tensor
    products: Tensor


@check
def relative_positions(subject: Subject) -> Verdict:
    """See whether queries and keys that are rotated by their positions give
    products that depend on the distance of the positions alone.

    The same word stands everywhere. If values are then all alike, and
    queries or keys are not, these two were rotated, or positions were added
    to them: that is told by other words. Where something is added to the
    scores, see how it depends on the distance.

    Su et al. (2021), section 3.2.1, equation 11.
    """
    if wrong := wrong_bias(subject):
        says, level, weights = wrong
        return False, says, first_matrix(weights), level
    found = placed(subject, 0)
    if not found:
        raise NotJudgedError(NONE)
    for i, one in enumerate(found):
        if by_distance(one) or added(one, placed(subject, 1)[i:]):
            continue
        says, level = what_is_wrong(one)
        says = f"In {one.path}, {says}"
        return False, says, one.products[0, 0], level
    for one in found:
        if one_speed(one.q) and one_speed(one.k):
            says = f"In {one.path}, {SPEED}"
            return False, says, one.products[0, 0], UNUSUAL
        if not still(one.v):
            says = f"In {one.path}, {VALUES}"
            return False, says, one.products[0, 0], UNUSUAL
    says = f"{WORDS} queries times keys depend on the distance of their "
    says += f"positions alone, in {how_many(found)}."
    return True, says, found[0].products[0, 0]


def placed(subject: Subject, word: int) -> list[Placed]:
    """Find the attentions that positions enter, and not the values, with the
    same word everywhere: the one of a number."""
    alike, found = same_word(few_outputs(subject), word), []
    for one in followed(alike):
        q, k, v = (by_rows(alike, x.matrix) for x in (one.q, one.k, one.v))
        within = 3 < q.shape[-2] == k.shape[-2]  # not of two sequences
        within |= subject.last == 0 and 3 < q.shape[-2] < k.shape[-2]
        alone = still(v) or (is_turned(v) and is_turned(q))
        if within and alone and not (still(q) and still(k)):
            k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
            found.append(Placed(one.path, q, k, v, q @ k.mT))
    return found


def by_rows(subject: Subject, x: Tensor) -> Tensor:
    """Tell rows from heads: (..., T, D) -> (B, H, T, D)."""
    flat, rows = x.reshape(-1, *x.shape[-2:]), len(subject.inputs[-1])
    return flat.unflatten(0, (1 if len(flat) % rows else rows, -1))


def still(x: Tensor) -> bool:
    """Whether all positions have the same vector: (..., T, D)."""
    return bool(((x - x[..., :1, :]).abs() <= rounded(x)).all())


def rounded(*factors: Tensor) -> float:
    """By how much numbers of this size, or products of them, may differ that
    were reckoned in another order."""
    sizes = [x.norm(dim=-1).max().item() for x in factors]
    eps = max(torch.finfo(x.dtype).eps for x in (*factors, torch.ones(1)))
    return 300 * eps * prod(sizes)


def by_distance(one: Placed) -> bool:
    """Whether products depend on t - s alone: in each head of some row, as
    the positions of others may be given; and apart from the lengths of
    queries, which may grow with the position."""
    units = [x / x.norm(dim=-1, keepdim=True) for x in (one.q, one.k)]
    pairs = (one.q, one.k), units
    return any(bool(is_constant(q, k).any()) for q, k in pairs)


def is_constant(q: Tensor, k: Tensor) -> Tensor:
    """Whether products of rows (B, H, T, D) depend on t - s alone: (B)."""
    x = q @ k.mT
    apart = (x[..., 1:, 1:] - x[..., :-1, :-1]).abs()
    return (apart <= rounded(q, k)).flatten(1).all(-1)


def one_speed(x: Tensor) -> bool:
    """Whether several pairs of channels turn, (B, H, T, D), all by the same
    angle from each position to the next."""
    steps = x.diff(dim=-2)
    turns = steps.abs().amax(-2) > 1e-4 * x.abs().max()
    if x.shape[-2] < 6 or turns.sum(-1).min() < 4:
        return False
    both, here = steps[..., 2:, :] + steps[..., :-2, :], steps[..., 1:-1, :]
    twice = (both * here).sum(-2) / here.square().sum(-2)
    twice = twice[turns]
    return bool(twice.amax() - twice.amin() < 1e-3)


def is_turned(x: Tensor) -> bool:
    """Whether the product of two rows (B, H, T, D) depends on their distance
    alone, as that of rotated rows does."""
    return bool(is_constant(x, x).any())


def added(one: Placed, others: list[Placed]) -> bool:
    """Whether positions were added, and not multiplied: two words differ by
    the same vector everywhere. `others` begin with those of another word."""
    if not others or others[0].path != one.path:
        return True
    return still(one.q - others[0].q) and still(one.k - others[0].k)


def what_is_wrong(one: Placed) -> tuple[str, str]:
    """Say why products do not depend on the distance alone."""
    q, k = one.q, one.k
    for name, other, x in (("keys", "queries", q), ("queries", "keys", k)):
        if still(x):
            says = f"{name} change with their positions, and {other} do not: "
            says += f"products depend on where {name} stand, not on distances."
            return f"{says} {LOOK}", BROKEN
    if is_constant(q, k.flip(-2)).any():
        says = "queries and keys are rotated in opposite directions: their "
        says += "products depend on the sum of the positions."
        return f"{says} {LOOK}", BROKEN
    says = f"{WORDS[0].lower()}{WORDS[1:]} queries times keys do not depend "
    says += f"on the distance of their positions alone. {PAIRS}"
    lengths = [x.norm(dim=-1, keepdim=True) for x in (q, k)]
    kept = all(map(still, lengths)) and not (is_turned(q) and is_turned(k))
    if q.shape[-2] != k.shape[-2]:
        says += " Do positions go on where those of earlier keys end?"
        return says, UNUSUAL
    return says, UNUSUAL if kept else BROKEN
