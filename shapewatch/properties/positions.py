"""Positions: added to the scores, rotated into queries and keys, and whether
two words that change places make a difference."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import compress, groupby, pairwise
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

from shapewatch.properties.attention import (
    AttentionParts,
    all_attentions,
    differ,
    first_matrix,
    how_many,
)
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import (
    FAINT,
    another_batch,
    evenly_spaced,
)
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
)
from shapewatch.properties.versions import same_word, with_random_weights

LEAST = 5  # positions: of fewer, numbers may be in order by chance


VIEWED_BIAS = (
    "In {path}, what is added to the scores {shape} depends on the distance "
    "of positions if its numbers are taken as (T, T, H), and not as (H, T, "
    "T). A view moves no element: permute the axes."
)
LATE_BIAS = (
    "In {path}, what is added to the scores is scaled with them, and so "
    "smaller than it is: add it after the scores are scaled."
)
MISSED_BIAS = (
    "In {path}, an attention is given no position, though in {other} "
    "positions are added to the scores. Are they handed to all layers?"
)
RISING_BIAS = (
    "With the same word everywhere, all heads attend to a position the more "
    "the farther it is, as what is added to the scores has it. Look at its "
    "sign."
)


def wrong_bias(subject: Subject) -> Verdict | None:
    """Say what is wrong with what is added to the scores."""
    every = all_attentions(same_word(subject, 0))
    within = [x for x in every if x.weights.shape[-1] == x.weights.shape[-2]]
    biased = [x for x in within if x.biases and x.weights.shape[-1] >= LEAST]
    for parts in biased:
        for x in filter(is_viewed, parts.biases):
            says = VIEWED_BIAS.format(path=parts.path, shape=tuple(x.shape))
            return False, says, first_matrix(parts.weights)
    late = [x.path for x in biased if not 0.8 < x.late < 1.25]
    bare = [] if subject.last else [x.path for x in within if is_placeless(x)]
    if late:
        says = LATE_BIAS.format(path=late[0])
    elif biased and bare:
        says = MISSED_BIAS.format(path=bare[0], other=biased[0].path)
    elif biased and all(rises(parts.weights) for parts in biased):
        says = RISING_BIAS
    else:
        return None
    return False, says, first_matrix(biased[0].weights), UNUSUAL


def is_placeless(parts: AttentionParts) -> bool:
    """Whether one word is asked and answers alike at all positions."""
    return not parts.biases and all_alike(parts.q.matrix, parts.k.matrix)


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


SAME_WORD = "With the same word everywhere,"
NO_ROTATION = "No attention rotates queries or keys by their positions."
ROTATION_HINT = (
    "Rotate both in the same way, so that only the distance is left."
)
VALUES = (
    "values are rotated as queries and keys are: what is mixed of them then "
    "depends on places, unless it is rotated back."
)
ONE_SPEED = (
    "all pairs of channels rotate by one angle from position to position: "
    "each has a frequency of its own. Look at the division in its exponent."
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
    """See whether queries and keys that are rotated by their positions give
    products that depend on the distance of the positions alone.

    The same word stands everywhere. If values are then all alike, and
    queries or keys are not, these two were rotated, or positions were added
    to them: that is told by other words. Where something is added to the
    scores, see how it depends on the distance.

    Su et al. (2021), section 3.2.1, equation 11.
    """
    if wrong := wrong_bias(subject):
        return wrong
    placed = positional_attentions(subject, 0)
    if wrong_rotation(subject, placed):
        placed = not_placed_before(subject, placed)
    if not placed:
        raise NotJudgedError(NO_ROTATION)
    if rotated := wrong_rotation(subject, placed):
        word, says, level = rotated
        says = f"In {word.path}, {says}"
        return False, says, word.products, level
    says = f"{SAME_WORD} queries times keys depend on the distance of their "
    says += f"positions alone, in {how_many(placed)}."
    return True, says, placed[0].products


def wrong_rotation(
    subject: Subject, placed: list[OneWord]
) -> tuple[OneWord, str, str] | None:
    """Say which attention's rotation is wrong, why, and of which level."""
    for i, word in enumerate(placed):
        if not products_by_distance(word) and not are_added(
            word, positional_attentions(subject, 1)[i:]
        ):
            return word, *what_is_wrong(word)
    for word in placed:
        if one_speed(word.q) and one_speed(word.k):
            return word, ONE_SPEED, UNUSUAL
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
        q, k, v = (by_rows(alike, x.matrix) for x in operands)
        within = 3 < q.shape[-2] == k.shape[-2]  # not of two sequences
        within |= subject.last == 0 and 3 < q.shape[-2] < k.shape[-2]
        alone = all_alike(v) or (is_turned(v) and is_turned(q))
        if within and alone and not all_alike(q, k):
            k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
            placed.append(OneWord(parts.path, q, k, v))
    return placed


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


def one_speed(x: Tensor) -> bool:
    """Whether several pairs of channels (B, H, T, D) turn at one speed."""
    steps = x.diff(dim=-2)
    turns = steps.abs().amax(-2) > 1e-4 * x.abs().max()
    if x.shape[-2] < 6 or turns.sum(-1).min() < 4:
        return False
    both, here = steps[..., 2:, :] + steps[..., :-2, :], steps[..., 1:-1, :]
    twice = (both * here).sum(-2) / here.square().sum(-2)
    twice = twice[turns]
    return bool(twice.amax() - twice.amin() < 1e-3)


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
            says = f"{name} change with their positions, and {other} do not: "
            says += f"products depend on where {name} stand, not on distances."
            return f"{says} {ROTATION_HINT}", BROKEN
    if is_constant(q, k.flip(-2)).any():
        return SUM_PRODUCTS, BROKEN
    lengths = [x.norm(dim=-1, keepdim=True) for x in (q, k)]
    kept = all_alike(*lengths) and not (is_turned(q) and is_turned(k))
    more_keys = q.shape[-2] != k.shape[-2]
    return UNLIKE_PRODUCTS, UNUSUAL if kept or more_keys else BROKEN


MOST_PAIRS = 32  # how many pairs are tried
POSITION_NAMES = re.compile("pos|rotary|rope|alibi|freq|wpe|place", re.I)
PositionPairs = list[tuple[int, int]]


def swappable_neighbours(
    subject: Subject, which: int
) -> tuple[str, str] | None:
    """Say which neighbours could change places, and how bad that is."""
    tried, unmoved = swappable_pairs(subject, which)
    if unmoved:  # weights may be small
        again = swappable_pairs(with_random_weights(subject, 0), which)[1]
        unmoved = [pair for pair in unmoved if pair in again]
    if not unmoved:
        return None
    if len(unmoved) == len(tried):
        placed = placed_later(subject, which)
        return None if placed else no_positions(subject, which)
    (p, q), side = unmoved[0], subject.side(which)
    says = (
        f"When {side} positions {p} and {q} change places, the first "
        "attention makes no difference, though for others it does. Do they "
        "share one position, by a division or a limit?"
    )
    return says, BROKEN


def no_positions(subject: Subject, which: int) -> tuple[str, str]:
    """Say that no position is added anywhere."""
    model: Any = subject.model
    says = (
        f"The {subject.side(which)} has no positions: with words that change "
        "places, the first attention gives the same, and only the causal "
        "mask tells later ones of their order. "
    )
    names = [*dict(model.named_modules()), *model.state_dict()]
    if any(map(POSITION_NAMES.search, names)):
        return says + "Look at the positions: are they added?", BROKEN
    return says + "Some models are meant so.", UNUSUAL


def table_with_zeros(model: Any) -> str:
    """Say which table of positions is 0 in many channels; or ""."""
    for name, x in getattr(model, "named_buffers", dict)():
        if x.is_floating_point() and x.ndim > 1 and min(x.shape[-2:]) > 7:
            empty = ~x.flatten(0, -2).any(0)
            if not empty.all() and empty.float().mean() >= 0.25:
                return (
                    f"{int(empty.sum())} of the {len(empty)} channels of "
                    f"{name} are 0 at all positions. Is one half written over "
                    "the other?"
                )
    return ""


def unlike_words(subject: Subject, which: int) -> PositionPairs:
    """List pairs of positions that have other words, most of them near."""
    ids, real = subject.inputs[which][0], subject.real[which][0]
    places = real.nonzero()[:, 0].tolist()
    pairs = [*pairwise(places), *((places[0], q) for q in places[2:])]
    return [(p, q) for p, q in pairs if not ids[p].equal(ids[q])][:MOST_PAIRS]


def swappable_pairs(
    subject: Subject, which: int
) -> tuple[PositionPairs, PositionPairs]:
    """Find pairs of words, and those whose exchange moves nothing."""
    ids, unlike = subject.inputs[which][0], unlike_words(subject, which)
    batch = ids.repeat(len(unlike) + 1, *[1] * ids.ndim)
    for row, (p, q) in zip(batch, unlike):
        row[[p, q]] = row[[q, p]]
    other = another_batch(subject, which, batch)
    parts = first_attention(other, len(ids))
    if parts is None:
        return [], []
    mixed, weights = (by_rows(other, x) for x in (parts.mixed, parts.weights))
    tried, unmoved = [], []
    for row, (p, q) in zip(mixed, unlike):
        asks = (weights[-1][..., [p, q]] > 0).all(-1).any(0)
        asks[[p, q]] = False
        if asks.any():
            tried.append((p, q))
            moved = (row - mixed[-1]).abs().amax((0, 2))[asks].max()
            unmoved += [(p, q)] * bool(moved <= FAINT * mixed.abs().max())
    return tried, unmoved


def first_attention(subject: Subject, t: int) -> AttentionParts | None:
    """Find the first attention of t positions with unlike rows."""
    rows = len(subject.inputs[0])
    for parts in all_attentions(subject):
        x = parts.weights
        if x.shape[-2:] == (t, t) and not x[..., 0].numel() % rows:
            values = parts.v.matrix.reshape(rows, -1)
            if (values != values[:1]).any():
                return parts
    return None


def placed_later(subject: Subject, which: int) -> bool:
    """Whether positions of an input come in later than in embeddings."""
    every = all_attentions(same_word(subject, 0))
    for parts, of_side in zip(every, own_operands(subject, which)):
        if parts.biases and all(of_side[:2]) and not even(parts.weights):
            return True
        operands = compress((parts.q, parts.k, parts.v), of_side)
        if not all_alike(*(x.matrix for x in operands)):
            return True
    return False


def even(weights: Tensor) -> bool:
    """Whether all weights above 0 of a position are alike: (..., T, S)."""
    most = weights.amax(-1, keepdim=True)
    return bool(((weights > 0.999 * most) | (weights == 0)).all())


def own_operands(subject: Subject, which: int) -> Iterator[list[bool]]:
    """Say which of queries, keys and values depend on just this input."""
    runs = [all_attentions(subject, i) for i in range(subject.last + 1)]
    for parts, *others in zip(all_attentions(subject), *runs):
        moves = [*zip(*(differ(parts, x) for x in others))]
        yield [
            not any(x[which + 1 :]) and (x[which] or not any(x)) for x in moves
        ]


class AttendedRows(NamedTuple):
    """What an attention attends to: the rows of its queries (P, T), keys and
    values (P, S) that depend on the words at some `places`, and the keys that
    each query `attends` to, in some head: (T, S)."""

    path: str
    places: list[int]
    q: Tensor
    k: Tensor
    v: Tensor
    attends: Tensor

    @property
    def pairs(self) -> Tensor:
        """Which places attend to values of which: (P, P)."""
        q, weights, v = (1.0 * x for x in (self.q, self.attends, self.v))
        return q @ weights @ v.mT > 0

    @property
    def moved(self) -> Tensor:
        """Which places have no value in the row of the same number, nor of
        the same number from the end, where earlier keys stand before: (P)."""
        t = self.q.shape[-1]
        return ~(self.q & (self.v[:, :t] | self.v[:, -t:])).any(1)

    def hides_itself(self) -> bool:
        """Whether no position attends to itself; the first has no choice."""
        asks = self.q.any(1) & (torch.tensor(self.places) > 0)
        itself = self.pairs.diagonal()[asks]
        return len(itself) > 1 and not itself.any()


@once
def attended_rows(subject: Subject, which: int) -> list[AttendedRows]:
    """Ask each attention within an input, by other words at some places."""
    x, real = subject.inputs[which][:1], subject.real[which][0]
    words, other = real.nonzero()[:, 0].tolist(), x[0].clone()
    other[words] = x[0, words].roll(1, 0)
    unlike = [s for s in words if not x[0, s].equal(other[s])]
    some = evenly_spaced(unlike, max(2, subject.positions // 2))
    places = sorted({*some} | {s - 1 for s in some} & {*unlike})
    batch = x.repeat(len(places) + 1, *[1] * (x.ndim - 1))
    for row, s in zip(batch, places):
        row[s] = other[s]
    asked = another_batch(subject, which, batch)
    try:
        every = zip(all_attentions(asked), own_operands(subject, which))
        within = [parts for parts, of_side in every if all(of_side)]
    except (NotJudgedError, FailedError):
        return []
    causal = subject.causal and which == subject.last
    attended = (rows_of_places(parts, places, causal) for parts in within)
    return [
        parts for parts in attended if parts and parts.q.shape[1] >= x.shape[1]
    ]


def rows_of_places(
    parts: AttentionParts, places: list[int], causal: bool
) -> AttendedRows | None:
    """See which rows of an attention differ from those of a batch's last.
    Where the future is hidden, a place has those that the next does not
    reach: no row of its own is among these."""
    rows = len(places) + 1
    operands = [x.matrix for x in (parts.q, parts.k, parts.v)]
    every, (t, s) = [*operands, parts.weights], parts.weights.shape[-2:]
    if t > s or any(x[..., 0, 0].numel() % rows for x in every):
        return None
    *vectors, weights = (x.reshape(rows, -1, *x.shape[-2:]) for x in every)
    apart = [(x[:-1] - x[-1:]).abs().amax((1, 3)) for x in vectors]
    moved = [x > FAINT * y.abs().max() for x, y in zip(apart, vectors)]
    if causal:
        moved = [torch.cat((x[:-1] & ~x[1:], x[-1:])) for x in moved]
    (q, k, v), attends = moved, (weights[-1] > 0).any(0)
    return AttendedRows(parts.path, places, q, k, v, attends)


def misplaced_rows(rows: AttendedRows) -> str:
    """Say which keys or values stand where those of others should; or ""."""
    apart = rows.k.any(1) & rows.v.any(1) & ~(rows.k & rows.v).any(1)
    if apart.any():
        i = int(apart.nonzero()[0])
        return (
            f"In {rows.path}, the value of position {rows.places[i]} does not "
            "stand where its key does. Look for what moves one of them along "
            "positions: a roll, a flip, a view."
        )
    pairs = rows.pairs
    unmoved = rows.q.any(1) & ~pairs.diagonal()
    if (rows.moved & unmoved).any():
        i = int(unmoved.nonzero()[-1])
        return (
            f"In {rows.path}, position {rows.places[i]} attends to "
            f"{values_text(rows.places, pairs[i].tolist())}: its own is not "
            "among them. Look at the axis that keys and values are repeated "
            "along, and for a roll."
        )
    return ""


def values_text(places: list[int], attended: list[bool]) -> str:
    """Say which of some places' values are attended to."""
    runs = groupby(zip(places, attended), itemgetter(1))
    some = [[place for place, _ in run] for used, run in runs if used]
    ends = (dict.fromkeys((run[0], run[-1])) for run in some)
    texts = [" to ".join(map(str, pair)) for pair in ends]
    return f"values of positions {', '.join(texts) or '(none)'} only"


def masks_hide_neighbours(every: list[AttendedRows]) -> bool:
    """Whether no attention shows each position the one before it, though
    some show earlier ones."""
    for rows in every:
        near = [t - s == 1 for s, t in pairwise(rows.places)]
        if rows.pairs.diagonal(-1)[near].all() or rows.moved.any():
            return False
    return any(rows.pairs.tril(-1).any() for rows in every)
