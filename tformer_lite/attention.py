"""Attention: the arithmetic of the paper's equation 1, and the layer."""

import math

import torch
from torch import Tensor, nn

from tformer_lite.masks import check_mask


def softmax(scores: Tensor) -> Tensor:
    """Turn scores into weights along the last axis: (..., S) -> (..., S).

    Every row is positive and sums to 1. A row in which every score is −∞
    has nobody to attend to: it gives zeros, and its gradient is zero.
    """
    top = scores.amax(-1, keepdim=True).detach()
    top = top.masked_fill(top == -math.inf, 0)
    exps = torch.exp(scores - top)
    total = exps.sum(-1, keepdim=True)
    return exps / total.masked_fill(total == 0, 1)


def dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Mix the values by how well each key answers each query:
    (..., T, D), (..., S, D), (..., S, D), (..., T, S) -> (..., T, D).

    `mask` is boolean, True = may attend; an axis of size 1 serves all.
    Vaswani et al. (2017), equation 1.
    """
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        check_mask(mask, scores)
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Deal the channels out to the heads: (B, T, C) -> (B, H, T, D).

    D = C / H. Head 0 takes the first D channels, head 1 the next D.
    Raises ValueError when the channels do not divide.
    """
    check_heads(x.shape[-1], n_heads)
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again: (B, H, T, D) -> (B, T, C).

    The inverse of `split_heads`; C = H * D.
    """
    return x.transpose(1, 2).flatten(-2)


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise ValueError unless the channels divide among the heads."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(
            f"{d_model=} is not divisible by {n_heads=}: every head gets the "
            "same number of channels. Choose an n_heads that divides d_model."
        )


class MultiHeadAttention(nn.Module):
    """Let every position of one sequence attend to another, in several heads.

    `d_model` channels are shared out to `n_heads` heads. The projections
    start from Xavier's uniform draw, which keeps the variance of `x`.
    Vaswani et al. (2017), section 3.2.2, which writes no biases: `bias`
    adds one to each of the four projections.
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = False):
        super().__init__()
        check_heads(d_model, n_heads)
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias)
        self.key = nn.Linear(d_model, d_model, bias)
        self.value = nn.Linear(d_model, d_model, bias)
        self.output = nn.Linear(d_model, d_model, bias)
        for projection in self.children():
            nn.init.xavier_uniform_(projection.weight)

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        Without `source`, x attends to itself (self-attention). `mask` is
        boolean, (1 or B, 1 or H, 1 or T, S), True = may attend.
        """
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_heads)
        v = split_heads(self.value(source), self.n_heads)
        heads = dot_product_attention(q, k, v, mask)
        return self.output(join_heads(heads))
