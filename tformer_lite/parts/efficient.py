"""Parts that save work: experts of which few are asked, and attention that
never holds all of its scores."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.model.attention import MultiHeadAttention, join_heads
from tformer_lite.model.checks import check_fit
from tformer_lite.model.grouped import share_heads
from tformer_lite.model.layers import FeedForward, Linear


class MixtureOfExperts(nn.Module):
    """Ask, at each position, the `top_k` best of `n_experts` feed-forward
    layers, and add up what they say.

    A router scores the experts; the softmax of the chosen scores says how
    much each counts, so the shares sum to 1. Parameters grow with
    `n_experts`, the work of a position only with `top_k` (ValueError unless
    that is 1 to `n_experts`). Shazeer et al. (2017), section 2; chosen, then
    normalised, as in Mixtral (Jiang et al., 2024, section 2.1). Each expert
    gets as many positions as chose it, so torch.func.vmap cannot run it.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor] = torch.relu,
        bias: bool = True,
        dropout: float = 0.0,
        n_experts: int = 4,
        top_k: int = 2,
    ):
        super().__init__()
        if not 1 <= top_k <= n_experts:
            raise ValueError(
                f"{top_k=} of {n_experts=}: each position goes to at least "
                "one expert, and at most to all."
            )
        self.top_k = top_k
        self.router = Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(
            FeedForward(d_model, d_ff, activation, bias, dropout)
            for _ in range(n_experts)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map each position on its own: (B, T, C) -> (B, T, C)."""
        scores, chosen = self.router(x).topk(self.top_k)
        shares = torch.softmax(scores, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            b, t, rank = torch.where(chosen == i)
            out[b, t] += shares[b, t, rank, None] * expert(x[b, t])
        return out


def tiled_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
    width: int = 4,
) -> Tensor:
    """Attend to `width` keys at a time:
    (..., T, D), (..., S, D), (..., S, D), (..., T, S) -> (..., T, D).

    What `dot_product_attention` gives, from (..., T, `width`) scores at
    once. Each row keeps its best score so far, and the sums of its weights
    and of its weighted values; a better score shrinks both sums. Raises
    ValueError for a width below 1, and what `dot_product_attention` raises.
    Milakov and Gimelshein (2018), algorithm 3; FlashAttention (Dao et al.,
    2022, algorithm 1) has tiles of queries, too.
    """
    check_fit(q, k, v, mask)
    if width < 1:
        raise ValueError(f"{width=}: a tile has at least one key.")
    best = q.new_full((*q.shape[:-1], 1), torch.finfo(q.dtype).min)
    total, out = torch.zeros_like(best), torch.zeros_like(q)
    for start in range(0, k.shape[-2], width):
        tile = slice(start, start + width)
        scores = q @ k[..., tile, :].mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., tile], -math.inf)
        highest = torch.maximum(best, scores.amax(-1, keepdim=True))
        shrink, weights = (best - highest).exp(), (scores - highest).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        if dropout is not None:
            weights = dropout(weights)
        out = out * shrink + weights @ v[..., tile, :]
        best = highest
    return out / total.masked_fill(total == 0, 1)


class TiledAttention(MultiHeadAttention):
    """Multi-head attention that sees `width` keys at a time.

    The tiles are counted in Python: a program that torch.export makes keeps
    the lengths that it was made with.
    """

    width = 4

    def forward(
        self,
        x: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C)."""
        q, k, v = self.project(x, source)
        q, k = self.place(q), self.place(k)
        k, v = share_heads(k, self.n_heads), share_heads(v, self.n_heads)
        heads = tiled_attention(q, k, v, mask, self.dropout, self.width)
        return self.output(join_heads(heads))
