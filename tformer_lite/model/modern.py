"""Parts that came after the paper, in its places: what Llama is made of."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from tformer_lite.model.attention import (
    AttentionLayer,
    MultiHeadAttention,
    dot_product_attention,
    join_heads,
    split_heads,
)
from tformer_lite.model.checks import check_alone, check_heads, check_letters
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
            f"x has shape {tuple(x.shape)}, not (..., T, D): a row's place "
            "tells how far it turns. A single one becomes rows with x[None]."
        )
    if not x.is_floating_point():
        raise TypeError(f"x is {x.dtype}: turned, it is decimals, x.float()")


def check_pairs(d: int) -> None:
    """Raise ValueError unless the channels of a head come in pairs."""
    if d % 2:
        raise ValueError(
            f"a head of {d} channels has one without a partner: rotary "
            "positions turn channels two by two. Choose an n_heads that "
            "makes d_model / n_heads even."
        )


class RotaryAttention(MultiHeadAttention):
    """Self-attention whose queries and keys are turned by their positions.

    The scores know how far apart two positions are, so a model needs no
    other `positions` ("none"). ValueError unless `d_model` / `n_heads` is
    even. Su et al. (2021), equation 16.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__(d_model, n_heads, bias, dropout)
        check_pairs(d_model // n_heads)

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make all three, and turn queries and keys: (B, T, C) ->
        (B, H, T, D), (B, H, T, D), (B, H, T, D).

        A `source` raises ValueError: two sequences have no distance.
        """
        check_alone(source, "positions of two sequences have no distance")
        q, k, v = super().project(x)
        return rotate(q, start), rotate(k, start), v


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """Give each query head its group's head: (B, G, S, D) -> (B, H, S, D).

    Head 0 goes to the first H / G query heads, head 1 to the next. With as
    many heads already, x itself comes back. Raises ValueError when they do
    not divide, and for other axes.
    """
    check_letters(x, "B G S D")
    check_groups(n_heads, x.shape[1])
    if x.shape[1] == n_heads:
        return x
    return x.repeat_interleave(n_heads // x.shape[1], dim=1)


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the query heads divide into the groups."""
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(
            f"{n_heads=} is not divisible by {n_kv_heads=}: every key head "
            "serves the same number of query heads. Choose an n_kv_heads "
            "that divides n_heads."
        )


class Narrow(Linear):
    """Some rows of a square linear layer, which start as those do."""

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        bound = math.sqrt(3 / self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class GroupedQueryAttention(AttentionLayer):
    """Attention in which several query heads share keys and values.

    `n_kv_heads` key and value heads serve `n_heads` query heads, a group
    each (ValueError when they do not divide): with one, this is multi-query
    attention (Shazeer, 2019, section 3); with `n_heads`, the function of
    `MultiHeadAttention`. Ainslie et al. (2023), section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
        n_kv_heads: int = 1,
    ):
        super().__init__()
        check_heads(d_model, n_heads)
        check_groups(n_heads, n_kv_heads)
        shared = d_model // n_heads * n_kv_heads
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.query = Linear(d_model, d_model, bias)
        self.key = Narrow(d_model, shared, bias)
        self.value = Narrow(d_model, shared, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        Each query head is given a copy of its group's keys and values.
        """
        q, k, v = self.project(x, source)
        k = share_heads(k, self.n_heads)
        v = share_heads(v, self.n_heads)
        heads = dot_product_attention(q, k, v, mask, self.dropout)
        return self.output(join_heads(heads))

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C), (B, S, C) ->
        (B, H, T, D), (B, G, S, D), (B, G, S, D)."""
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_kv_heads)
        v = split_heads(self.value(source), self.n_kv_heads)
        return q, k, v


class RotaryGroupedAttention(GroupedQueryAttention):
    """Both at once, as in Mistral 7B and Llama 2 70B.

    Jiang et al. (2023), section 2; Touvron et al. (2023), section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
        n_kv_heads: int = 1,
    ):
        super().__init__(d_model, n_heads, bias, dropout, n_kv_heads)
        check_pairs(d_model // n_heads)

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make all three, and turn queries and keys: (B, T, C) ->
        (B, H, T, D), (B, G, T, D), (B, G, T, D).

        A `source` raises ValueError: two sequences have no distance.
        """
        check_alone(source, "positions of two sequences have no distance")
        q, k, v = super().project(x)
        return rotate(q, start), rotate(k, start), v


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
