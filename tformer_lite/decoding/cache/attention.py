"""Attention that keeps its keys and values from call to call.

Two caches stand in for every attention, one where x attends to itself, one
where it attends to a source. Attentions differ in how they make queries,
keys and values, and `PROJECT` and `ANSWER` say how each does it.

A step with one new token is nearly all overhead: what
`dot_product_attention` does in many calls, PyTorch does here in one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from tformer_lite.model.attention import (
    MultiHeadAttention,
    join_heads,
    split_heads,
)
from tformer_lite.model.modern import (
    GroupedQueryAttention,
    RotaryAttention,
    RotaryGroupedAttention,
    rotate,
    share_heads,
)
from tformer_lite.model.variants import FusedAttention, FusedCrossAttention

Separate = MultiHeadAttention | GroupedQueryAttention
Heads = tuple[Tensor, ...]


class Cache(nn.Module):
    """What both have in common: `keys` and `values`, (B, G, S, D), both
    None at first, and the layers of the attention that they stand in for.

    `project` makes the attention's heads. G = H, unless groups of heads
    share keys and values.
    """

    keys: Any
    values: Any
    query: nn.Module
    output: nn.Module

    def __init__(self, attention: Any, project: Callable[..., Heads]):
        super().__init__()
        self.n_heads = attention.n_heads
        self.project = partial(project, attention)
        for name, layer in attention.named_children():
            self.add_module(name, layer)
        self.forget()

    def forget(self) -> None:
        """Keep nothing any more."""
        self.keys = self.values = None

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row `rows[i]` has kept."""
        self.keys, self.values = self.keys[rows], self.values[rows]

    def append(self, k: Tensor, v: Tensor) -> None:
        """Keep the keys and values of new positions, after the others."""
        if self.keys is not None:
            k = torch.cat((self.keys, k), dim=2)
            v = torch.cat((self.values, v), dim=2)
        self.keys, self.values = k, v

    def attend(self, q: Tensor, mask: Tensor | None) -> Tensor:
        """Mix the values that are kept: (B, H, T, D) -> (B, T, C)."""
        k = share_heads(self.keys, self.n_heads)
        v = share_heads(self.values, self.n_heads)
        heads = scaled_dot_product_attention(q, k, v, mask)
        return self.output(join_heads(heads))


class CachedAttention(Cache):
    """Attention to oneself: x is only what is new."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to all before it and itself: (B, T, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, T, S), True = may attend; S counts
        what is kept and what is new.
        """
        start = 0 if self.keys is None else self.keys.shape[2]
        q, k, v = self.project(x, start)
        self.append(k, v)
        return self.attend(q, mask)


class CachedCrossAttention(Cache):
    """Attention to a source, which is read once."""

    def forward(
        self, x: Tensor, source: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, 1 or T, S), True = may attend.
        """
        if self.keys is None:
            self.append(*self.project(source))
        return self.attend(split_heads(self.query(x), self.n_heads), mask)

    def reorder(self, rows: Tensor) -> None:
        """Stay: rows change places among those with the same source."""


def project(part: Separate, x: Tensor, start: int) -> Heads:
    """Make queries, keys and values: (B, T, C) -> (B, H, T, D), (B, G, T,
    D), (B, G, T, D). `start` positions are kept already."""
    return split_heads(part.query(x), part.n_heads), *answer(part, x)


def project_turned(part: Separate, x: Tensor, start: int) -> Heads:
    """Make what `project` does, but turn queries and keys by their
    positions, which go on from `start`."""
    q, k, v = project(part, x, start)
    return rotate(q, start), rotate(k, start), v


def project_fused(part: FusedAttention, x: Tensor, start: int) -> Heads:
    """Make all three in one: (B, T, C) -> (B, H, T, D), three times."""
    return split_heads(part.qkv(x), part.n_heads).chunk(3, dim=-1)


def answer(part: Separate, source: Tensor) -> Heads:
    """Make keys and values: (B, S, C) -> (B, G, S, D), twice."""
    n_heads = getattr(part, "n_kv_heads", part.n_heads)
    k, v = part.key(source), part.value(source)
    return split_heads(k, n_heads), split_heads(v, n_heads)


def answer_fused(part: FusedCrossAttention, source: Tensor) -> Heads:
    """Make both in one: (B, S, C) -> (B, H, S, D), twice."""
    both = split_heads(part.key_value(source), part.n_heads)
    return both.chunk(2, dim=-1)


# How each kind of attention makes what its cache needs.
PROJECT: dict[type, Callable[..., Heads]] = {
    MultiHeadAttention: project,
    FusedAttention: project_fused,
    RotaryAttention: project_turned,
    GroupedQueryAttention: project,
    RotaryGroupedAttention: project_turned,
}
ANSWER: dict[type, Callable[..., Heads]] = {
    MultiHeadAttention: answer,
    FusedCrossAttention: answer_fused,
    GroupedQueryAttention: answer,
}
CACHED = {
    "self_attention": (CachedAttention, PROJECT),
    "cross_attention": (CachedCrossAttention, ANSWER),
}
