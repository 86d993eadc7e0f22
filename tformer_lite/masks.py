"""Boolean masks: True = may attend. They combine like sentences, with &."""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Let everyone see every key that is not padding: (B, S) -> (B, 1, 1, S).

    `pad` is the id of the padding token.
    """
    return (ids != pad)[:, None, None, :]


def causal_mask(t: int) -> Tensor:
    """Let position i see positions up to and including i: (1, 1, T, T).

    Vaswani et al. (2017), section 3.2.3.
    """
    return torch.ones(1, 1, t, t, dtype=torch.bool).tril()


def window_mask(t: int, width: int) -> Tensor:
    """Let position i see positions closer than `width`: (1, 1, T, T).

    `width` counts tokens. With `causal_mask`, the sliding window of
    Mistral 7B (Jiang et al., 2023, section 2).
    """
    if width < 1:
        raise ValueError(f"{width=} lets nobody see anything: use 1 or more")
    positions = torch.arange(t)
    near = (positions[:, None] - positions[None, :]).abs() < width
    return near[None, None]


def check_mask(mask: Tensor, scores: Tensor) -> None:
    """Raise unless `mask` is boolean and fits `scores` axis by axis.

    An axis fits when it has the size of the scores' axis, or 1. Axes are
    never added or shifted in silence.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"the mask is {mask.dtype}, not torch.bool. True means 'may "
            "attend'; from numbers, write mask != 0."
        )
    want, got = tuple(scores.shape), tuple(mask.shape)
    if len(want) != len(got):
        raise ValueError(
            f"the mask has {len(got)} axes {got}, the scores have "
            f"{len(want)} {want}: give the mask every axis, of size 1 where "
            "one value serves all."
        )
    for axis, (size, allowed) in enumerate(zip(got, want, strict=True)):
        if size not in (1, allowed):
            raise ValueError(
                f"axis {axis} of the mask has size {size}, the scores have "
                f"{allowed} there: mask {got}, scores {want}."
            )
