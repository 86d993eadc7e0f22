"""Provenance: where splitting and joining heads, and cutting images into
patches, takes each element."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from shapewatch.properties.attention_parts import (
    AttentionParts,
    Operand,
    attentions,
    first_matrix,
    recorded_run,
)
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.patches import patch_fault
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.versions import with_random_weights
from shapewatch.tracing.questions.flow import MOVES, Flow


@check
def provenance(subject: Subject) -> Verdict:
    """Check that splitting and joining heads keeps every element at its
    position, and patches their pixels: each is traced to where it came from.

    A head's query is the same channels of one position, and a joined row is
    all heads of one position: a view in the place of a transpose gives the
    same shapes, and mixes both. So it does with the patches of an image.

    - Changes: all vectors, by noise, so that no two elements are alike.
    - Looks at: queries, keys and values beside the tensors that they were
      split from, joined heads beside the heads, and the pixels of images in
      tokens, at convolutions, and in an image at the end.
    - Says: which split or join mixes positions or channels, which weights
      are viewed as their transpose, which tokens are no patches, and which
      pixels come out elsewhere. Unusual: heads are added up, or queries, keys
      and values are the same vectors.
    """
    origins, (flow, _) = [], recorded_run(subject)
    if says := patch_fault(subject) or transposed_weight(flow):
        return False, says, torch.zeros(1, 1)
    every = attentions(subject, *range(subject.last + 1))  # no rows alike
    if says := summed_heads(flow) or one_matrix(subject, every):
        return False, says, torch.zeros(1, 1), UNUSUAL
    for parts in every:
        for what, move in head_moves(parts).items():
            origins.append(move.positions.nan_to_num(-1).long())
            if not move.in_order:
                says = (
                    f"In {parts.path}, the {what} mix positions or channels. "
                    "A view or reshape moves no element: transpose the axes "
                    "first, and then merge them."
                )
                return False, says, origins[-1]
    if not origins:
        raise NotJudgedError("No heads are split or joined that can be seen.")
    says = f"{len(origins)} splits and joins keep each element in its place."
    return True, says, origins[-1]


class Move(NamedTuple):
    """Whether elements stayed in order, and the position that each of the
    first sentence came from: (T, D) of a head, or (T, C)."""

    in_order: bool
    positions: Tensor


def head_moves(parts: AttentionParts) -> dict[str, Move]:
    """Follow what an attention splits and joins, where that can be told."""
    moves = {
        "split queries": split_in_order(parts.q),
        "split keys": split_in_order(parts.k),
        "split values": split_in_order(parts.v),
        "joined heads": joined_in_order(parts),
    }
    return {what: move for what, move in moves.items() if move}


def transposed_weight(flow: Flow) -> str:
    """Say which matrix of weights a view takes for its transpose, or ""."""
    for i, step in enumerate(flow.steps):
        if flow.names[i] in ("view", "reshape") and flow.sources[i] == [None]:
            x, y = step.reads[0].shape, step.makes[0].shape
            if len(x) == 2 and x == y[::-1] and min(x) > 1 and x != y:
                place = step.visit.path or "the model"
                return (
                    f"In {place}, a matrix {(*x,)} is viewed as {(*y,)}. A "
                    "view moves no element: transpose it."
                )
    return ""


def summed_heads(flow: Flow) -> str:
    """Say in which module mixed heads are summed up; or ""."""
    for at in (parts.mixed for parts in flow.attentions()):
        for j in range(at + 1, len(flow.steps)):
            if flow.sources[j][:1] != [at]:
                continue
            step, at = flow.steps[j], j
            axes = [len(x.shape) for x in (*step.reads[:1], *step.makes[:1])]
            if flow.names[j] in ("sum", "mean") and axes[0] > axes[1]:
                return (
                    f"In {step.visit.path or 'the model'}, heads are added "
                    "up, by a mean or a sum. Look at how heads are joined: "
                    "they belong side by side."
                )
            if flow.names[j] not in MOVES:
                break
    return ""


def one_matrix(subject: Subject, every: list[AttentionParts]) -> str:
    """Say where queries, keys and values are the same vectors, whatever the
    weights are: those of copies begin alike. Or ""."""
    same = same_vectors(every)
    if not same:
        return ""
    other = with_random_weights(subject, 0)
    if same_vectors(attentions(other, *range(subject.last + 1))) != same:
        return ""
    return (
        f"In {same[0]}, queries, keys and values are the same vectors. Is one "
        "matrix used for all three?"
    )


def same_vectors(every: list[AttentionParts]) -> list[str]:
    """Name the attentions whose queries, keys and values are the same."""
    return [
        parts.path
        for parts in every
        if parts.q.matrix.any()
        and parts.q.matrix.equal(parts.k.matrix)
        and parts.q.matrix.equal(parts.v.matrix)
    ]


def split_in_order(operand: Operand) -> Move | None:
    """Whether vectors of a head (..., T, D) are the same channels of row
    after row of the projection (B, T, C); None where it cannot be told."""
    origins = both_ways(operand.origin)
    ways = [is_in_order(operand.matrix, x, operand.factor) for x in origins]
    return next((way for way in ways if way and way.in_order), ways[0])


def is_in_order(matrix: Tensor, source: Tensor, factor: float) -> Move | None:
    """The same, of a projection (B, T, C)."""
    split = source.ndim == 3 <= matrix.ndim
    origins = element_origins(matrix, source, factor) if split else None
    if origins is None:
        return None
    rows, channels = origins // source.shape[-1], origins % source.shape[-1]
    later = ~(rows.diff(dim=-2) <= 0)
    right = equal_along(rows, -1) and equal_along(channels, -2)
    positions = first_matrix(rows % source.shape[1])
    return Move(right and mostly(later), positions)


def joined_in_order(parts: AttentionParts) -> Move | None:
    """Whether each joined row (..., C) is all heads (..., T, D) at one
    position, in the same order at each; None where it cannot be told."""
    if parts.joined.shape == parts.mixed.shape:
        return None
    ways = [rows_in_order(x, parts.mixed) for x in both_ways(parts.joined)]
    return next((way for way in ways if way and way.in_order), ways[0])


def rows_in_order(joined: Tensor, mixed: Tensor) -> Move | None:
    """The same, of joined rows (..., C)."""
    *_, t, d = mixed.shape
    origins = element_origins(joined.flatten(0, -2), mixed, 1.0)
    if origins is None:
        return None
    positions = origins // d % t
    channels = origins // (t * d) * d + origins % d
    channels = channels - channels[:, :1]  # heads may be far apart
    right = equal_along(positions, -1) and equal_along(channels, 0)
    return Move(right, positions[:t])


def both_ways(source: Tensor) -> list[Tensor]:
    """Take a projection as (B, T, C), and as (B, C, T)."""
    return [source, source.mT] if source.ndim == 3 else [source]


def element_origins(
    elements: Tensor, source: Tensor, factor: float
) -> Tensor | None:
    """Find where in the flat source each element found elsewhere stood: NaN
    for values that occur twice there. None when values are missing."""
    wanted = elements.double().contiguous() / factor
    numbers, places = source.double().flatten().sort()
    right = torch.searchsorted(numbers, wanted).clamp(1, len(numbers) - 1)
    nearer = wanted - numbers[right - 1] < numbers[right] - wanted
    nearest = right - nearer.long()
    if not torch.allclose(numbers[nearest], wanted, rtol=1e-4, atol=1e-6):
        return None
    twins = numbers.diff() < 1e-9
    twice = pad(twins, (1, 0)) | pad(twins, (0, 1))
    return places.double().masked_fill(twice, torch.nan)[nearest]


def equal_along(places: Tensor, axis: int) -> bool:
    """Whether places are the same along an axis; NaN is any place."""
    usual = places.nanmedian(axis, keepdim=True).values
    return mostly(~((places - usual).abs() > 0))


def mostly(right: Tensor) -> bool:
    """Whether something is right, but for a few values alike by chance."""
    return right.numel() == 0 or right.double().mean().item() > 0.98
