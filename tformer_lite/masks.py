"""Boolean masks: True = may attend. They combine like sentences, with &."""

import torch
from torch import Tensor

AXES = "B (the batch)", "H (the heads)", "T (the queries)", "S (the keys)"


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Let everyone see every key that is not padding: (B, S) -> (B, 1, 1, S).

    `pad` is the id of the padding token. Raises ValueError unless `ids` has
    two axes.
    """
    check_batch(ids)
    return (ids != pad)[:, None, None, :]


def causal_mask(t: int, device: torch.device | None = None) -> Tensor:
    """Let position i see positions up to and including i: (1, 1, T, T).

    Vaswani et al. (2017), section 3.2.3.
    """
    seen = torch.ones(t, t, dtype=torch.bool, device=device).tril()
    return seen[None, None]


def window_mask(
    t: int, width: int, device: torch.device | None = None
) -> Tensor:
    """Let position i see positions closer than `width`: (1, 1, T, T).

    `width` counts tokens; ValueError when it is less than 1. With
    `causal_mask`, the sliding window of Mistral 7B (Jiang et al., 2023,
    section 2).
    """
    if width < 1:
        raise ValueError(f"{width=} lets nobody see anything: use 1 or more")
    positions = torch.arange(t, device=device)
    near = (positions[:, None] - positions[None, :]).abs() < width
    return near[None, None]


def check_batch(ids: Tensor) -> None:
    """Raise unless `ids` is a batch of rows of whole numbers."""
    if ids.ndim != 2 or 0 in ids.shape:
        raise ValueError(
            f"ids have shape {tuple(ids.shape)}, not (B, T): rows of at least "
            "one id. A single row becomes a batch with ids[None]."
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"ids are {ids.dtype}: make them whole, ids.long()")


def check_mask(mask: Tensor, scores: Tensor) -> None:
    """Raise unless `mask` is boolean and fits `scores` axis by axis.

    The last axis, S, has the scores' size: a mask hides keys. Any other has
    that size, or 1.
    """
    check_axes(mask, scores)
    if mask.shape[-1] != scores.shape[-1]:
        raise ValueError(
            f"axis {mask.ndim - 1} of the mask, {AXES[-1]}, has size 1, the "
            f"scores have {scores.shape[-1]} there: a mask hides keys, so it "
            "needs a value for each of them."
        )


def check_axes(mask: Tensor, scores: Tensor) -> None:
    """Raise unless `mask` is boolean and each axis has a fitting size or 1.

    Axes are never added or shifted in silence.
    """
    want, got = tuple(scores.shape), tuple(mask.shape)
    if mask.dtype != torch.bool:
        raise TypeError(
            f"the mask is {mask.dtype}, not torch.bool. True means 'may "
            "attend'; from numbers, write mask != 0."
        )
    if len(want) != len(got):
        raise ValueError(
            f"the mask has {len(got)} axes {got}, the scores have "
            f"{len(want)} {want}: give the mask every axis, of size 1 where "
            "one value serves all."
        )
    for axis, (size, allowed) in enumerate(zip(got, want)):
        if size not in (1, allowed):
            raise ValueError(
                f"axis {axis} of the mask, {AXES[axis - len(want)]}, has size "
                f"{size}, the scores have {allowed} there: mask {got}, scores "
                f"{want}."
            )
