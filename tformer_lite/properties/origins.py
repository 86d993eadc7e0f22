"""Origins: which element came from where, told by its value."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from tformer_lite.properties.mixing import Mixing
from tformer_lite.properties.paths import Operand


class Moved(NamedTuple):
    """Whether elements stayed in order, and the position that each of the
    first sentence came from: (T, D) of a head, or (T, C)."""

    in_order: bool
    positions: Tensor


def origins(moved: Tensor, source: Tensor, factor: float) -> Tensor | None:
    """Find where in the flat source each element that was moved stood: -1
    for values that occur twice there. None when values are missing."""
    wanted = moved.double().contiguous() / factor
    known, places = source.double().flatten().sort()
    right = torch.searchsorted(known, wanted).clamp(1, len(known) - 1)
    nearer = wanted - known[right - 1] < known[right] - wanted
    nearest = right - nearer.long()
    if not torch.allclose(known[nearest], wanted, rtol=1e-4, atol=1e-6):
        return None
    twins = known.diff() < 1e-9
    twice = pad(twins, (1, 0)) | pad(twins, (0, 1))
    return places.masked_fill(twice, -1)[nearest]


def split_in_order(operand: Operand) -> Moved | None:
    """Whether each vector of a head (..., T, D) is the same channels of one
    row of the projection (B, T, C), and rows come in order; None where
    nothing was split, or it cannot be told."""
    matrix, source, factor = operand
    if source is None or source.ndim != 3 or matrix.ndim < 3:
        return None
    found = origins(matrix, source, factor)
    if found is None:
        return None
    rows, channels = found // source.shape[-1], found % source.shape[-1]
    later = rows.diff(dim=-2) > 0
    later |= (found[..., 1:, :] < 0) | (found[..., :-1, :] < 0)
    channels = channels.where(found >= 0, -1)
    right = alike(rows, -1) and alike(channels, -2) and mostly(later)
    return Moved(right, (rows % source.shape[1]).flatten(0, -3)[0])


def joined_in_order(one: Mixing) -> Moved | None:
    """Whether each joined row (..., C) is all heads (..., T, D) at one
    position, in the same order at each; None where it cannot be told."""
    mixed, joined = one.mixed, one.joined
    if joined.shape == mixed.shape:
        return None
    found = origins(joined, mixed, 1.0)
    if found is None:
        return None
    t, d = mixed.shape[-2:]
    heads = found // (t * d) * d
    positions = (found // d % t).where(found >= 0, -1).flatten(0, -2)
    channels = ((heads + found % d) % joined.shape[-1]).where(found >= 0, -1)
    right = alike(positions, -1) and alike(channels.flatten(0, -2), 0)
    return Moved(right, positions[:t])


def alike(places: Tensor, axis: int) -> bool:
    """Whether places are the same along an axis; -1 is any place."""
    usual = places.mode(axis, keepdim=True).values
    return mostly((places == usual) | (places < 0) | (usual < 0))


def mostly(right: Tensor) -> bool:
    """Whether something is right, but for a few values alike by chance."""
    return right.numel() == 0 or right.double().mean().item() > 0.98
