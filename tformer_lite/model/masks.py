"""Boolean masks: True = may attend. They combine like sentences, with &."""

import torch
from torch import Tensor

from tformer_lite.model.checks import check_batch, check_size


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Let everyone see every key that is not padding: (B, S) -> (B, 1, 1, S).

    `pad` is the id of padding. ValueError unless `ids` has two axes.

    >>> padding_mask(torch.tensor([[5, 7, 1]]), pad=1)
    tensor([[[[ True,  True, False]]]])
    """
    check_batch(ids)
    return (ids != pad)[:, None, None, :]


def causal_mask(t: int, device: torch.device | None = None) -> Tensor:
    """Let position i see positions up to and including i: (1, 1, T, T).

    A negative T raises ValueError. Vaswani et al. (2017), section 3.2.3.

    >>> causal_mask(2)[0, 0].tolist()
    [[True, False], [True, True]]
    """
    check_size(t)
    seen = torch.ones(t, t, dtype=torch.bool, device=device).tril()
    return seen[None, None]


def window_mask(
    t: int, width: int, device: torch.device | None = None
) -> Tensor:
    """Let position i see positions closer than `width`: (1, 1, T, T).

    `width` counts tokens; ValueError when it is less than 1, or T negative.
    """
    check_size(t)
    if width < 1:
        raise ValueError(f"{width=} hides every position: use 1 or more")
    positions = torch.arange(t, device=device)
    near = (positions[:, None] - positions[None, :]).abs() < min(width, t)
    return near[None, None]


def sliding_mask(
    t: int, device: torch.device | None = None, width: int = 4
) -> Tensor:
    """Let position i see itself and the `width` - 1 before: (1, 1, T, T).

    Jiang et al. (2023), section 2; there `width` is 4,096 tokens.
    """
    return causal_mask(t, device) & window_mask(t, width, device)
