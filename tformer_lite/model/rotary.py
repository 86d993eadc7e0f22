"""Positions as turns: a vector turned by where it stands."""

import torch
from torch import Tensor


def rotate(x: Tensor, start: int = 0) -> Tensor:
    """Turn each pair of channels by its position: (..., T, D) -> (..., T, D).

    Row t stands at position p = `start` + t. Its channels 2i and 2i + 1 are
    a point in a plane, which turns by p * 10000^(-2i / D) radians: lengths
    stay, and the dot product of two turned rows depends on how far apart
    they stand, not on where. An odd D raises ValueError. Su et al. (2021),
    section 3.2.2. (Hugging Face pairs channels i and i + D / 2: weights
    move over after re-ordering.)
    """
    check_pairs(x.shape[-1])
    cos, sin = turns(x, start)
    first, second = x[..., 0::2], x[..., 1::2]
    across = first * cos - second * sin
    upward = first * sin + second * cos
    return torch.stack((across, upward), dim=-1).flatten(-2)


def turns(x: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Tabulate the cosine and sine of each pair's angle: (..., T, D) ->
    (T, P), (T, P), with P = D / 2 pairs.

    The angles have single precision at least: far positions need digits.
    """
    t, d = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    steps = torch.arange(start, start + t, device=x.device, dtype=exact)
    channels = torch.arange(0, d, 2, device=x.device, dtype=exact)
    angles = steps[:, None] * 10000 ** (-channels / d)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def check_pairs(d: int) -> None:
    """Raise ValueError unless the channels of a head come in pairs."""
    if d % 2:
        raise ValueError(
            f"a head of {d} channels has one without a partner: rotary "
            "positions turn channels two by two. Choose an n_heads that "
            "makes d_model / n_heads even."
        )


def check_alone(source: Tensor | None) -> None:
    """Raise ValueError for a source: its positions are not those of x."""
    if source is not None:
        raise ValueError(
            "rotary attention got a source: the positions of two sequences "
            "have no distance. Give the Config another cross_attention, "
            "'split' or 'grouped'."
        )
