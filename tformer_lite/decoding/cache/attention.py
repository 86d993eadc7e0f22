"""Attention that keeps its keys and values from call to call.

A step with one new token is nearly all overhead: what
`dot_product_attention` does in many calls, PyTorch does here in one.
"""

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


class Cache(nn.Module):
    """What all have in common: `keys` and `values`, (B, H, S, D), both
    None at first, and the layers of the attention that they stand in for.
    """

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.n_heads = attention.n_heads
        for name, layer in attention.named_children():
            self.add_module(name, layer)
        self.forget()

    def forget(self) -> None:
        """Keep nothing any more."""
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row `rows[i]` has kept."""
        self.keys, self.values = self.keys[rows], self.values[rows]

    def append(self, k: Tensor, v: Tensor) -> None:
        """Keep the keys and values of new positions, after the others."""
        if self.keys is not None:
            k = torch.cat((self.keys, k), dim=2)
            v = torch.cat((self.values, v), dim=2)
        self.keys, self.values = k, v

    def kept(self) -> tuple[Tensor, Tensor]:
        """Give keys and values, one head for each head of the queries."""
        return self.keys, self.values


class CachedAttention(Cache):
    """`MultiHeadAttention` to oneself: x is only what is new."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C) -> (B, H, T, D), three
        times."""
        layers = self.query, self.key, self.value
        q, k, v = (split_heads(layer(x), self.n_heads) for layer in layers)
        return q, k, v

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to all before it and itself: (B, T, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, T, S), True = may attend; S counts
        what is kept and what is new.
        """
        q, k, v = self.project(x)
        self.append(k, v)
        heads = scaled_dot_product_attention(q, *self.kept(), mask)
        return self.output(join_heads(heads))


class CachedFusedAttention(CachedAttention):
    """`FusedAttention`: x is only what is new."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C) -> (B, H, T, D), three
        times."""
        return split_heads(self.qkv(x), self.n_heads).chunk(3, dim=-1)


class CachedCrossAttention(Cache):
    """`MultiHeadAttention` to a source, which is read once."""

    def project(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Make keys and values: (B, S, C) -> (B, H, S, D), twice."""
        k = split_heads(self.key(source), self.n_heads)
        v = split_heads(self.value(source), self.n_heads)
        return k, v

    def forward(
        self, x: Tensor, source: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, 1 or T, S), True = may attend.
        """
        if self.keys is None:
            self.append(*self.project(source))
        q = split_heads(self.query(x), self.n_heads)
        heads = scaled_dot_product_attention(q, *self.kept(), mask)
        return self.output(join_heads(heads))

    def reorder(self, rows: Tensor) -> None:
        """Stay: rows change places among those with the same source."""


class CachedFusedCrossAttention(CachedCrossAttention):
    """`FusedCrossAttention` to a source, which is read once."""

    def project(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Make keys and values: (B, S, C) -> (B, H, S, D), twice."""
        both = split_heads(self.key_value(source), self.n_heads)
        return both.chunk(2, dim=-1)


class CachedRotaryAttention(CachedAttention):
    """`RotaryAttention`: positions go on from what is kept."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C) -> (B, H, T, D), three
        times; queries and keys are turned."""
        q, k, v = super().project(x)
        start = 0 if self.keys is None else self.keys.shape[2]
        return rotate(q, start), rotate(k, start), v


class Grouped(Cache):
    """Keys and values that several heads share: (B, G, S, D) is kept."""

    def __init__(self, attention: nn.Module):
        super().__init__(attention)
        self.n_kv_heads = attention.n_kv_heads

    def kept(self) -> tuple[Tensor, Tensor]:
        """Give keys and values, one head for each head of the queries."""
        k, v = self.keys, self.values
        return share_heads(k, self.n_heads), share_heads(v, self.n_heads)


class CachedGroupedAttention(Grouped, CachedAttention):
    """`GroupedQueryAttention` to oneself: x is only what is new."""

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values: (B, T, C) -> (B, H, T, D), (B, G,
        T, D), (B, G, T, D)."""
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(x), self.n_kv_heads)
        return q, k, split_heads(self.value(x), self.n_kv_heads)


class CachedRotaryGroupedAttention(
    CachedRotaryAttention, CachedGroupedAttention
):
    """`RotaryGroupedAttention`: what both have, turned before it is kept."""


class CachedGroupedCrossAttention(Grouped, CachedCrossAttention):
    """`GroupedQueryAttention` to a source, which is read once."""

    def project(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Make keys and values: (B, S, C) -> (B, G, S, D), twice."""
        k = split_heads(self.key(source), self.n_kv_heads)
        return k, split_heads(self.value(source), self.n_kv_heads)


CACHED = {
    "self_attention": {
        MultiHeadAttention: CachedAttention,
        FusedAttention: CachedFusedAttention,
        RotaryAttention: CachedRotaryAttention,
        GroupedQueryAttention: CachedGroupedAttention,
        RotaryGroupedAttention: CachedRotaryGroupedAttention,
    },
    "cross_attention": {
        MultiHeadAttention: CachedCrossAttention,
        FusedCrossAttention: CachedFusedCrossAttention,
        GroupedQueryAttention: CachedGroupedCrossAttention,
    },
}
