"""Attention: the arithmetic of the paper's equation 1, and the layer."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.model.checks import check_fit, check_heads, check_letters
from tformer_lite.model.layers import Linear


def softmax(scores: Tensor) -> Tensor:
    """Turn scores into weights along the last axis: (..., S) -> (..., S).

    Every row is positive and sums to 1. A row in which every score is −∞
    has nobody to attend to: it gives zeros, and its gradient is zero.
    torch.softmax is the same function in one fast step, but for such rows:
    they become NaN. Attention uses it.

    >>> softmax(torch.tensor([0.0, 0.0, -torch.inf]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    top = scores.amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -math.inf, 0)
    exps = torch.exp(scores - top)
    total = exps.sum(-1, keepdim=True)
    return exps / total.masked_fill(total == 0, 1)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Turn the scores that a mask allows into weights:
    (..., T, S), (..., T, S) -> (..., T, S).

    A query that may attend to no key gets zeros: its row of scores is left
    as it is, for of nothing but −∞ torch.softmax makes NaN.

    >>> seen = torch.tensor([[True, False], [False, False]])
    >>> masked_softmax(torch.zeros(2, 2), seen)
    tensor([[1., 0.],
            [0., 0.]])
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    any_key = mask.any(-1, keepdim=True)
    scores = scores + torch.where(mask | ~any_key, 0.0, -math.inf).to(scores)
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

    `mask` is boolean, True = may attend; an axis of size 1 serves all, but
    S, its last, has every key. `dropout` is applied to the weights. Raises
    ValueError when shapes do not fit or S is 0, TypeError for other masks.
    Vaswani et al. (2017), equation 1.

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


class AttentionLayer(nn.Module):
    """Let one sequence attend to another. How it makes queries, keys and
    values, each kind says in its `project`."""

    n_heads: int
    project: Callable[..., tuple[Tensor, Tensor, Tensor]]
    dropout: nn.Module
    output: nn.Module

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
        heads = dot_product_attention(q, k, v, mask, self.dropout)
        return self.output(join_heads(heads))


class MultiHeadAttention(AttentionLayer):
    """Let every position of one sequence attend to another, in several heads.

    `d_model` channels are shared out to `n_heads` heads (ValueError when
    they do not divide); `dropout` is the share of weights dropped in
    training. Vaswani et al. (2017), section 3.2.2, which writes no biases:
    `bias` adds one to each projection.

    >>> MultiHeadAttention(12, n_heads=3)(torch.zeros(2, 8, 12)).shape
    torch.Size([2, 8, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.query = Linear(d_model, d_model, bias)
        self.key = Linear(d_model, d_model, bias)
        self.value = Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_model, d_model, bias)

    def project(
        self, x: Tensor, source: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C), (B, S, C) ->
        (B, H, T, D), (B, H, S, D), (B, H, S, D).

        `start` counts the positions before x's first: rotary ones heed it.
        """
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_heads)
        v = split_heads(self.value(source), self.n_heads)
        return q, k, v
