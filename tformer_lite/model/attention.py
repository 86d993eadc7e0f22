"""Attention: the arithmetic of the paper's equation 1, and the layer."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.model.checks import (
    check_fit,
    check_groups,
    check_heads,
    check_letters,
)
from tformer_lite.model.grouped import Narrow, share_heads
from tformer_lite.model.layers import Linear


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Turn scores into weights: (..., T, S), (..., T, S) -> (..., T, S).

    Each row sums to 1, and what the mask hides is 0. A row in which it hides
    every key is zeros: torch.softmax of −∞ alone would be NaN.

    >>> masked_softmax(torch.zeros(2), torch.tensor([False, False]))
    tensor([0., 0.])
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    any_key = mask.any(-1, keepdim=True)
    visible = mask | ~any_key
    scores = scores + torch.where(visible, 0.0, -math.inf).to(scores.dtype)
    return torch.softmax(scores, dim=-1) * any_key


def dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Mix the values by how well each key answers each query:
    (..., T, D), (..., S, D), (..., S, D), (..., T, S) -> (..., T, D).

    `mask` is boolean, True = may attend; each of its axes but S may be 1.
    `dropout` is applied to the weights. ValueError when shapes do not fit or
    S is 0, TypeError for other masks. Vaswani et al. (2017), equation 1.

    >>> q, k = torch.ones(2, 3, 8, 4), torch.ones(2, 3, 6, 4)
    >>> dot_product_attention(q, k, v=k).shape
    torch.Size([2, 3, 8, 4])
    """
    check_fit(q, k, v, mask)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = masked_softmax(scores, mask)
    if dropout is not None:
        weights = dropout(weights)
    return weights @ v


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Deal the channels out to the heads: (B, T, C) -> (B, H, T, D).

    D = C / H. Head 0 takes the first D channels, head 1 the next D.
    Raises ValueError when the channels do not divide, and for other axes.

    >>> split_heads(torch.zeros(2, 8, 12), n_heads=3).shape
    torch.Size([2, 3, 8, 4])
    """
    check_letters(x, "B T C")
    check_heads(x.shape[-1], n_heads)
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again: (B, H, T, D) -> (B, T, C).

    The inverse of `split_heads`; C = H * D. Other axes raise ValueError.

    >>> join_heads(torch.zeros(2, 3, 8, 4)).shape
    torch.Size([2, 8, 12])
    """
    check_letters(x, "B H T D")
    return x.transpose(1, 2).flatten(-2)


def no_place(x: Tensor, start: int = 0) -> Tensor:
    """Leave queries, or keys, as they are: (B, H, T, D) -> (B, H, T, D)."""
    return x


class MultiHeadAttention(nn.Module):
    """Let every position of one sequence attend to another, in several heads.

    `d_model` channels are shared out to `n_heads` heads (ValueError when
    they do not divide); `dropout` is the share of weights dropped in
    training. Vaswani et al. (2017), section 3.2.2, which writes no biases:
    `bias` adds one to each projection.

    `n_kv_heads` heads of keys and values, if not H, serve a group of query
    heads each (ValueError when they do not divide): Ainslie et al. (2023),
    section 2.2; with one, Shazeer (2019), section 3. `place` is applied to
    queries and keys: `rotate` turns those of self-attention.

    >>> MultiHeadAttention(12, n_heads=3)(torch.zeros(2, 8, 12)).shape
    torch.Size([2, 8, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
        n_kv_heads: int | None = None,
        place: Callable[..., Tensor] = no_place,
    ):
        super().__init__()
        check_heads(d_model, n_heads)
        self.n_heads, self.place = n_heads, place
        self.n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_groups(n_heads, self.n_kv_heads)
        shared = d_model // n_heads * self.n_kv_heads
        rows = Linear if shared == d_model else Narrow  # starts as rows of it
        self.query = Linear(d_model, d_model, bias)
        self.key = rows(d_model, shared, bias)
        self.value = rows(d_model, shared, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C), (B, S, C) ->
        (B, H, T, D), (B, G, S, D), (B, G, S, D). G is `n_kv_heads`."""
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_kv_heads)
        v = split_heads(self.value(source), self.n_kv_heads)
        return q, k, v

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        Without `source`, x attends to itself (self-attention). `mask` is
        boolean, (1 or B, 1 or H, 1 or T, S), True = may attend; one that
        does not fit raises TypeError or ValueError.
        """
        q, k, v = self.project(x, source)
        q, k = self.place(q), self.place(k)
        k, v = share_heads(k, self.n_heads), share_heads(v, self.n_heads)
        heads = dot_product_attention(q, k, v, mask, self.dropout)
        return self.output(join_heads(heads))
