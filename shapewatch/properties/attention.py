"""Attention from inside: its weights, its scale, where its elements go."""

from collections.abc import Sized
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.matrices import flow_of
from shapewatch.properties.mixing import Mixing, Operand, mixings
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.tracing.questions.attention import Flow

ONE_HAS_ALL = (
    "In nearly every row of each attention, one position has more than 99% of "
    "the weight. Are the weights of queries and keys too large?"
)


@check
def weight_rows(subject: Subject) -> Verdict:
    """See whether the weights that mix the values sum to 1 in each row.

    Vaswani et al. (2017), equation 1.
    """
    found = mixings(subject)
    for one in found:
        sums = one.weights.double().sum(-1)
        near = max(1e-3, 2 * torch.finfo(one.weights.dtype).eps)
        wrong = ~((sums - 1).abs() < near) & ~nobody(subject, sums)
        if wrong.any():
            row, share = wrong.nonzero()[0].tolist(), sums[wrong][0].item()
            says = (
                f"In {one.path}, row {row} of the weights sums to "
                f"{share:.2f}. Look at the axis of the softmax, at what is "
                "done after it, and whether that row has anybody to hear."
            )
            if one.sink and sums[wrong].max() < 1:
                says = (
                    f"In {one.path}, row {row} of the weights sums to "
                    f"{share:.2f}: a sink, which is no position, has the rest."
                )
                return False, says, first_matrix(one.weights), UNUSUAL
            return False, says, first_matrix(one.weights)
    says = f"Each row of weights sums to 1, in {how_many(found)}."
    return True, says, first_matrix(found[0].weights)


@check
def score_scale(subject: Subject) -> Verdict:
    """See whether queries and keys of variance 1 would give scores of
    variance 1: a product of D of them has variance D.

    Vaswani et al. (2017), section 3.2.1, footnote 4.
    """
    every = [x for x in mixings(subject) if not x.talking]
    if not every:
        raise NotJudgedError("Heads are mixed between scores and softmax.")
    found = [x for x in every if not of_one_length(x)]
    if not found:
        says = "Queries and keys have one length: their scale is learned."
        raise NotJudgedError(says)
    seen = [one.scale**2 * size_of_head(one) for one in found]
    wrong = [one for one, v in zip(found, seen) if not 0.8 < v < 1.25]
    if not wrong:
        return of_right_scale(subject, found, torch.tensor([seen]))
    reasons = [otherwise_scaled(one) for one in wrong]
    most = sum(map(bool, reasons)) * 2 > len(wrong)
    i = [bool(x) for x in reasons].index(most)
    one, reason = wrong[i], reasons[i]
    size = size_of_head(one)
    says = (
        f"In {one.path}, queries and keys of variance 1 would give scores of "
        f"variance {one.scale**2 * size:.2f}: scores are the product times "
        f"{one.scale:.2f}, where 1/√{size} is {size**-0.5:.2f}."
    )
    if most:
        return False, says + reason, torch.tensor([seen]), UNUSUAL
    return False, says, torch.tensor([seen])


def of_right_scale(
    subject: Subject, found: list[Mixing], seen: Tensor
) -> Verdict:
    """Judge attentions whose scores are scaled: weights should be spread."""
    if all(map(one_is_all, mixings(subject))):
        return False, ONE_HAS_ALL, seen, UNUSUAL
    says = "Queries and keys of variance 1 would give scores of variance 1"
    return True, f"{says}, in {how_many(found)}.", seen


def one_is_all(one: Mixing) -> bool:
    """Whether one position has all weight, where there are several."""
    several = (one.weights > 0).sum(-1) > 2
    most = one.weights.amax(-1)[several]
    return len(most) > 9 and (most > 0.99).float().mean().item() > 0.9


def otherwise_scaled(one: Mixing) -> str:
    """Say what makes up for a scale, if something does: smaller queries, as
    T5 starts with; small scores; or a sum of several products."""
    size, v = size_of_head(one), one.scale**2
    q, k = (x.matrix.square().mean().item() for x in (one.q, one.k))
    apart = max(q, k) / max(min(q, k), 1e-30)
    if 0.9 < v < 1.1 and size > 3 and size / 2 < apart < 2 * size:
        return " Here queries or keys are smaller by just that."
    if v * size > 1 and v * size * q * k < 0.1:
        return f" Here their variance is only {v * size * q * k:.1g}, though."
    if one.biases and any(abs(n * v * size - 1) < 0.02 for n in (2, 3)):
        return " Here the scores are a sum, of which that is a part."
    return ""


def of_one_length(one: Mixing) -> bool:
    """Whether all queries have one length, and all keys, that is not √D: as
    in cosine attention."""
    sizes = [x.matrix.norm(dim=-1).flatten() for x in (one.q, one.k)]
    alike = all(len(x) > 1 and x.std() < 1e-3 * x.mean() for x in sizes)
    usual = size_of_head(one) ** 0.5
    return alike and all(abs(x.mean() / usual - 1) > 0.1 for x in sizes)


def size_of_head(one: Mixing) -> int:
    """The channels of a query: D."""
    return one.q.matrix.shape[-1]


@check
def provenance(subject: Subject) -> Verdict:
    """See whether splitting and joining heads keeps every element at its
    position: by its value, each is followed to where it came from.

    A head's query is the same channels of one position, and a joined row is
    all heads of one position.
    """
    seen = []
    if viewed := turned(flow_of(subject)):
        says = "A view moves no element: transpose it."
        return False, f"{viewed} {says}", torch.zeros(1, 1)
    for one in mixings(subject, *range(subject.last + 1)):  # no rows alike
        splits = zip(("queries", "keys", "values"), (one.q, one.k, one.v))
        moves = {f"split {name}": split_in_order(x) for name, x in splits}
        moves["joined heads"] = joined_in_order(one)
        for what, move in moves.items():
            seen += [move.positions.nan_to_num(-1).long()] if move else []
            if move and not move.in_order:
                says = (
                    f"In {one.path}, the {what} mix positions or channels. "
                    "A view or reshape moves no element: transpose the axes "
                    "first, and then merge them."
                )
                return False, says, seen[-1]
    if not seen:
        raise NotJudgedError("No heads are split or joined that can be seen.")
    says = f"{len(seen)} splits and joins keep each element in its place."
    return True, says, seen[-1]


def turned(flow: Flow) -> str:
    """Say which matrix of weights a view takes for its transpose, or ""."""
    for i, step in enumerate(flow.steps):
        if flow.names[i] in ("view", "reshape") and flow.sources[i] == [None]:
            x, y = step.reads[0].shape, step.makes[0].shape
            if len(x) == 2 and x == y[::-1] and min(x) > 1 and x != y:
                place = step.visit.path or "the model"
                return f"In {place}, a matrix {(*x,)} is viewed as {(*y,)}."
    return ""


def nobody(subject: Subject, sums: Tensor) -> Tensor:
    """Which rows (..., T) may be empty: of padding, with nobody to hear."""
    padding = torch.zeros_like(sums, dtype=torch.bool)
    for real in subject.real:
        heads, rest = divmod(sums.numel(), real.numel())
        if real.shape[1] == sums.shape[-1] and not rest:
            shared = ~real.repeat_interleave(heads, 0)
            padding |= shared.view(sums.shape)
    return padding & ~(sums > 0)


def first_matrix(weights: Tensor) -> Tensor:
    """Take those of the first sentence and head: (..., T, S) -> (T, S)."""
    return weights.reshape(-1, *weights.shape[-2:])[0]


def how_many(found: Sized) -> str:
    """Count attentions in words."""
    return f"{len(found)} attention{'s' * (len(found) > 1)}"


class Move(NamedTuple):
    """Whether elements stayed in order, and the position that each of the
    first sentence came from: (T, D) of a head, or (T, C)."""

    in_order: bool
    positions: Tensor


def origins(found: Tensor, source: Tensor, factor: float) -> Tensor | None:
    """Find where in the flat source each element found elsewhere stood: NaN
    for values that occur twice there. None when values are missing."""
    wanted = found.double().contiguous() / factor
    known, places = source.double().flatten().sort()
    right = torch.searchsorted(known, wanted).clamp(1, len(known) - 1)
    nearer = wanted - known[right - 1] < known[right] - wanted
    nearest = right - nearer.long()
    if not torch.allclose(known[nearest], wanted, rtol=1e-4, atol=1e-6):
        return None
    twins = known.diff() < 1e-9
    twice = pad(twins, (1, 0)) | pad(twins, (0, 1))
    return places.double().masked_fill(twice, torch.nan)[nearest]


def split_in_order(operand: Operand) -> Move | None:
    """Whether vectors of a head (..., T, D) are the same channels of row
    after row of the projection (B, T, C); None where it cannot be told."""
    ways = [
        in_order(operand.matrix, x, operand.factor)
        for x in both_ways(operand.origin)
    ]
    return next((way for way in ways if way and way.in_order), ways[0])


def both_ways(source: Tensor) -> list[Tensor]:
    """Take a projection as (B, T, C), and as (B, C, T)."""
    return [source, source.mT] if source.ndim == 3 else [source]


def in_order(matrix: Tensor, source: Tensor, factor: float) -> Move | None:
    """The same, of a projection (B, T, C)."""
    split = source.ndim == 3 <= matrix.ndim
    found = origins(matrix, source, factor) if split else None
    if found is None:
        return None
    rows, channels = found // source.shape[-1], found % source.shape[-1]
    later = ~(rows.diff(dim=-2) <= 0)
    right = alike(rows, -1) and alike(channels, -2) and mostly(later)
    return Move(right, first_matrix(rows % source.shape[1]))


def joined_in_order(one: Mixing) -> Move | None:
    """Whether each joined row (..., C) is all heads (..., T, D) at one
    position, in the same order at each; None where it cannot be told."""
    if one.joined.shape == one.mixed.shape:
        return None
    ways = [rows_in_order(x, one.mixed) for x in both_ways(one.joined)]
    return next((way for way in ways if way and way.in_order), ways[0])


def rows_in_order(joined: Tensor, mixed: Tensor) -> Move | None:
    """The same, of joined rows (..., C)."""
    *_, t, d = mixed.shape
    found = origins(joined.flatten(0, -2), mixed, 1.0)
    if found is None:
        return None
    heads, positions = found // (t * d), found // d % t
    channels = (heads * d + found % d) % joined.shape[-1]
    right = alike(positions, -1) and alike(channels, 0)
    return Move(right, positions[:t])


def alike(places: Tensor, axis: int) -> bool:
    """Whether places are the same along an axis; NaN is any place."""
    usual = places.nanmedian(axis, keepdim=True).values
    return mostly(~((places - usual).abs() > 0))


def mostly(right: Tensor) -> bool:
    """Whether something is right, but for a few values alike by chance."""
    return right.numel() == 0 or right.double().mean().item() > 0.98
