"""Attention that keeps its keys and values from call to call.

Two caches stand in for every attention, one where x attends to itself, one
where it attends to a source. The attention's `project` makes what is new.

A step with one new token is nearly all overhead: what
`dot_product_attention` does in many calls, PyTorch does here in one.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from tformer_lite.model.attention import (
    MultiHeadAttention,
    join_heads,
    no_place,
    split_heads,
)
from tformer_lite.model.choices import ATTENTIONS, CROSS_ATTENTIONS
from tformer_lite.model.grouped import share_heads
from tformer_lite.parts.modern import rotate


class Cache(nn.Module):
    """What both have in common: `keys` and `values`, (B, G, S, D), both
    None at first, and the layers of the attention that they stand in for.

    G = H, unless groups of heads share keys and values.
    """

    keys: Any
    values: Any
    output: nn.Module
    places: tuple[Callable[..., Tensor], ...] = (no_place,)

    def __init__(self, attention: MultiHeadAttention):
        super().__init__()
        self.n_heads, self.place = attention.n_heads, attention.place
        self.project = attention.project
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

    places = no_place, rotate

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to all before it and itself: (B, T, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, T, S), True = may attend; S counts
        what is kept and what is new.
        """
        start = 0 if self.keys is None else self.keys.shape[2]
        q, k, v = self.project(x)
        q, k = self.place(q, start), self.place(k, start)
        self.append(k, v)
        return self.attend(q, mask)


class CachedCrossAttention(Cache):
    """Attention to a source, which is read once: later, x only asks."""

    query: nn.Module

    def forward(
        self, x: Tensor, source: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Let x attend to source: (B, T, C), (B, S, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, 1 or T, S), True = may attend.
        """
        if self.keys is None:
            q, k, v = self.project(x, source)
            self.append(k, v)
        else:
            q = split_heads(self.query(x), self.n_heads)
        return self.attend(q, mask)

    def reorder(self, rows: Tensor) -> None:
        """Stay: rows change places among those with the same source."""


CACHES: dict[str, type[Cache]] = {
    "self_attention": CachedAttention,
    "cross_attention": CachedCrossAttention,
}


def positionwise(attention: nn.Module, cache: type[Cache]) -> bool:
    """Tell whether an attention makes each position's keys from that
    position alone, and places them as its cache does: those that a Config
    names do. No type shows whether another's does, a subclass's neither: one
    that mixes neighbours would be kept wrongly without a word."""
    known = {*ATTENTIONS.values(), *CROSS_ATTENTIONS.values()}
    return type(attention) in known and attention.place in cache.places
