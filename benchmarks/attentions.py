"""The book's attention in other words, to see what each costs."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer_lite import MultiHeadAttention, join_heads, softmax


class OneCall(MultiHeadAttention):
    """Causal self-attention whose arithmetic is one call of PyTorch's."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(join_heads(heads))


class FilledIn(MultiHeadAttention):
    """Self-attention that fills −∞ in where the mask hides a score, instead
    of adding it."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        any_key = mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~mask & any_key, -math.inf)
        weights = torch.softmax(scores, dim=-1) * any_key
        return self.output(join_heads(weights @ v))


class WrittenOut(MultiHeadAttention):
    """Self-attention with the softmax that chapter 8 derives."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores + torch.where(mask, 0.0, -math.inf)
        return self.output(join_heads(softmax(scores) @ v))
