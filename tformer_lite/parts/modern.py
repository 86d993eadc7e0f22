"""Parts that came after the paper, in its places: what Llama is made of."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import silu

from tformer_lite.model.checks import check_pairs
from tformer_lite.model.layers import FeedForward, Linear


def rotate(x: Tensor, start: int = 0) -> Tensor:
    """Turn each pair of channels by its position: (..., T, D) -> (..., T, D).

    Row t stands at position p = `start` + t. Its channels 2i and 2i + 1 are
    a point in a plane, which turns by p * 10000^(-2i / D) radians: lengths
    stay, and the dot product of two turned rows depends on how far apart
    they stand, not on where. Raises ValueError for an odd D and for a single
    row, TypeError for whole numbers. Su et al. (2021), section 3.2.2.
    (Hugging Face pairs channels i and i + D / 2: weights move over after
    re-ordering.)
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
    check_rows(x)
    t, d = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    steps = torch.arange(start, start + t, device=x.device, dtype=exact)
    channels = torch.arange(0, d, 2, device=x.device, dtype=exact)
    angles = steps[:, None] * 10000 ** (-channels / d)
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def check_rows(x: Tensor) -> None:
    """Raise unless x has rows of decimals, which can be turned."""
    if x.ndim < 2:
        raise ValueError(
            f"x has shape {tuple(x.shape)}, not (..., T, D): a row's position "
            "says how far to rotate it. For a single row, use x[None]."
        )
    if not x.is_floating_point():
        raise TypeError(f"x is {x.dtype}: rotation needs floats, x.float()")


class GatedFeedForward(FeedForward):
    """Widen each position twice, let one half open the other, and narrow it.

    With `silu` this is SwiGLU. Three matrices in place of two: two thirds
    of the `d_ff` give as many parameters. Shazeer (2020), section 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor] = silu,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__(d_model, d_ff, activation, bias, dropout)
        self.gate = Linear(d_model, d_ff, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map each position on its own: (B, T, C) -> (B, T, C)."""
        hidden = self.activation(self.gate(x)) * self.hidden(x)
        return self.output(self.dropout(hidden))
