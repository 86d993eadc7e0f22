"""Relative positions: rotated into queries and keys, or added to scores."""

from contextlib import suppress
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.attention_parts import (
    all_attentions,
    first_matrix,
    how_many,
)
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.versions import same_word, with_random_weights

LEAST = 5  # positions: of fewer, numbers may be in order by chance
VIEWED_BIAS = (
    "In {path}, what is added to the scores {shape} depends on the distance "
    "of positions if its numbers are read as (T, T, H), not as (H, T, T). A "
    "view moves no element: permute the axes."
)
RISING_BIAS = (
    "With the same word everywhere, all heads attend most to the farthest "
    "positions, because of what is added to the scores. Look at its sign."
)
ROTATION_HINT = (
    "Rotate both in the same way, so that only the distance is left."
)
VALUES = (
    "values are rotated like queries and keys: their weighted mean then "
    "depends on positions, unless it is rotated back."
)
UNLIKE_PRODUCTS = (
    "with the same word everywhere, queries times keys do not depend on the "
    "distance of their positions alone. Are the same pairs of channels "
    "rotated (neighbours, or halves), by the same angles, and are these "
    "numbers of positions?"
)
SUM_PRODUCTS = (
    "queries and keys are rotated in opposite directions: their products "
    f"depend on the sum of the positions. {ROTATION_HINT}"
)


class OneWord(NamedTuple):
    """What an attention makes of one word at all positions, where positions
    enter it: queries, keys and values (B, H, T, D)."""

    path: str
    q: Tensor
    k: Tensor
    v: Tensor

    @property
    def products(self) -> Tensor:
        """Those of the first row and head: (T, T)."""
        return (self.q @ self.k.mT)[0, 0]


@check
def relative_positions(subject: Subject) -> Verdict:
    """Check that the products of rotated queries and keys depend only on the
    distance between their positions.

    That is what rotations are for: a pair of words is scored alike wherever
    it stands. Su et al. (2021), section 3.2.1, equation 11.

    - Changes: all words become one, so that only positions differ.
    - Looks at: queries times keys, of each attention in which values are all
      alike and queries or keys are not; and at what is added to its scores.
    - Says: which attention's products depend on more than the distance, and
      why; or that a bias (H, T, T) is a view of (T, T, H). Unusual: values
      are rotated, too, or a bias grows with the distance.
    """
    if wrong := wrong_bias(subject):
        return wrong
    placed = positional_attentions(subject, 0)
    if wrong_rotation(subject, placed):
        placed = not_placed_before(subject, placed)
    if not placed:
        says = "No attention rotates queries or keys by their positions."
        raise NotJudgedError(says)
    if fault := wrong_rotation(subject, placed):
        word, says, level = fault
        return False, f"In {word.path}, {says}", word.products, level
    says = "With the same word everywhere, queries times keys depend on the "
    says += f"distance of their positions alone, in {how_many(placed)}."
    return True, says, placed[0].products


def wrong_bias(subject: Subject) -> Verdict | None:
    """Say what is wrong with what is added to the scores."""
    biased = [
        parts
        for parts in all_attentions(same_word(subject, 0))
        if parts.biases and parts.weights.shape[-1] >= LEAST
        if parts.weights.shape[-1] == parts.weights.shape[-2]
    ]
    for parts in biased:
        for x in filter(is_viewed, parts.biases):
            says = VIEWED_BIAS.format(path=parts.path, shape=tuple(x.shape))
            return False, says, first_matrix(parts.weights)
    if biased and all(rises(parts.weights) for parts in biased):
        return False, RISING_BIAS, first_matrix(biased[0].weights), UNUSUAL
    return None


def is_viewed(x: Tensor) -> bool:
    """Whether a bias depends on distances if read as (T, T, H)."""
    if x.ndim < 3 or x.shape[-1] != x.shape[-2] or x.shape[-3] < 2:
        return False
    heads, t, _ = x.shape[-3:]
    if x.shape[:-3].numel() != 1 or t < LEAST or is_by_distance(x):
        return False
    return is_by_distance(x.reshape(t, t, heads).permute(2, 0, 1))


def is_by_distance(x: Tensor) -> bool:
    """Whether numbers (..., T, T) depend on the distance alone."""
    return bool((x[..., 1:, 1:] == x[..., :-1, :-1]).all())


def rises(weights: Tensor) -> bool:
    """Whether weights (..., T, T) grow with the distance in all heads."""
    both = (weights[..., 1:] > 0) & (weights[..., :-1] > 0)
    steps, t = weights.diff(dim=-1), weights.shape[-1]
    before = both.tril(-1) & (both.sum(-1, keepdim=True) > 1)
    after = both.triu()
    counted = (before | after).flatten(-2).sum(-1)
    right = (~before | (steps < 0)) & (~after | (steps > 0))
    return bool(right.all() and (counted > t).all())


def wrong_rotation(
    subject: Subject, placed: list[OneWord]
) -> tuple[OneWord, str, str] | None:
    """Say which attention's rotation is wrong, why, and of which level."""
    for i, word in enumerate(placed):
        if not products_by_distance(word):
            others = positional_attentions(subject, 1)[i:]
            if not are_added(word, others):
                return word, *what_is_wrong(word)
    for word in placed:
        if not all_alike(word.v):
            return word, VALUES, UNUSUAL
    return None


def not_placed_before(
    subject: Subject, placed: list[OneWord]
) -> list[OneWord]:
    """Leave out attentions that are told of positions before they rotate, as
    by a convolution: small weights hide that, and random ones do not."""
    with suppress(NotJudgedError):
        other = with_random_weights(subject, 0)
        paths = {word.path for word in positional_attentions(other, 0)}
        return [word for word in placed if word.path in paths]
    return placed


def positional_attentions(subject: Subject, word: int) -> list[OneWord]:
    """Find attentions that positions enter, with one word everywhere."""
    alike, placed = same_word(subject, word), []
    for parts in all_attentions(alike):
        operands = parts.q, parts.k, parts.v
        q, k, v = (full_rows(alike, x.matrix) for x in operands)
        within = 3 < q.shape[-2] == k.shape[-2]  # not of two sequences
        within |= subject.last == 0 and 3 < q.shape[-2] < k.shape[-2]
        alone = all_alike(v) or (is_turned(v) and is_turned(q))
        if within and alone and not all_alike(q, k):
            k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
            placed.append(OneWord(parts.path, q, k, v))
    return placed


def full_rows(subject: Subject, x: Tensor) -> Tensor:
    """The same of rows that have no padding, if there are some."""
    rows = by_rows(subject, x)
    for real in subject.real:
        full, size = real.all(1), (len(rows), rows.shape[2])
        if real.shape == size and full.any():
            return rows[full]
    return rows


def by_rows(subject: Subject, x: Tensor) -> Tensor:
    """Tell rows from heads: (..., T, D) -> (B, H, T, D)."""
    flat, rows = x.reshape(-1, *x.shape[-2:]), len(subject.inputs[-1])
    return flat.unflatten(0, (1 if len(flat) % rows else rows, -1))


def all_alike(*rows: Tensor) -> bool:
    """Whether all positions have the same vector: (..., T, D)."""
    return all(
        bool(((x - x[..., :1, :]).abs() <= rounding_bound(x)).all())
        for x in rows
    )


def rounding_bound(*factors: Tensor) -> float:
    """By how much products of such numbers may round apart."""
    sizes = [x.norm(dim=-1).max().item() for x in factors]
    eps = max(torch.finfo(x.dtype).eps for x in (*factors, torch.ones(1)))
    return 300 * eps * prod(sizes)


def products_by_distance(word: OneWord) -> bool:
    """Whether products depend on t - s alone in some row, apart from the
    lengths of queries, which may grow."""
    units = [x / x.norm(dim=-1, keepdim=True) for x in (word.q, word.k)]
    pairs = (word.q, word.k), units
    return any(bool(is_constant(q, k).any()) for q, k in pairs)


def is_constant(q: Tensor, k: Tensor) -> Tensor:
    """Whether products of rows (B, H, T, D) depend on t - s alone: (B)."""
    x = q @ k.mT
    apart = (x[..., 1:, 1:] - x[..., :-1, :-1]).abs()
    return (apart <= rounding_bound(q, k)).flatten(1).all(-1)


def is_turned(x: Tensor) -> bool:
    """Whether products of two rows (B, H, T, D) depend on distances alone."""
    return bool(is_constant(x, x).any())


def are_added(word: OneWord, others: list[OneWord]) -> bool:
    """Whether positions were added, and not multiplied: two words differ by
    the same vector everywhere. `others` begin with those of another word."""
    if not others or others[0].path != word.path:
        return True
    return all_alike(word.q - others[0].q, word.k - others[0].k)


def what_is_wrong(word: OneWord) -> tuple[str, str]:
    """Say why products do not depend on the distance alone."""
    q, k = word.q, word.k
    for name, other, x in (("keys", "queries", q), ("queries", "keys", k)):
        if all_alike(x):
            says = f"{name} change with their positions, but {other} do not: "
            says += f"products depend on where {name} are, not on distances."
            return f"{says} {ROTATION_HINT}", BROKEN
    if is_constant(q, k.flip(-2)).any():
        return SUM_PRODUCTS, BROKEN
    lengths = [x.norm(dim=-1, keepdim=True) for x in (q, k)]
    kept = all_alike(*lengths) and not (is_turned(q) and is_turned(k))
    more_keys = q.shape[-2] != k.shape[-2]
    return UNLIKE_PRODUCTS, UNUSUAL if kept or more_keys else BROKEN
