"""Attention whose heads can be changed everywhere, a part of whose matrices
learns nothing, or that adds something to its scores: right, and wrong."""

from functools import partial

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.places import Nameless


class Own(nn.Module):
    """Attention in which heads (B, H, T, D) may be changed everywhere, by
    hand or, `fused`, in one call."""

    def __init__(self, heads=4, joined=16, fused=False):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))
        self.out = nn.Linear(joined, 16)

    def split(self, x):
        parts = (y(x) for y in (self.q, self.k, self.v))
        return [
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in parts
        ]

    def seen(self, t, s):
        return torch.ones(t, s).tril() > 0

    def mix(self, q, k, v):
        may = self.seen(q.shape[2], k.shape[2])
        if self.fused:
            return scaled_dot_product_attention(q, k, v, attn_mask=may)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        return scores.masked_fill(~may, -torch.inf).softmax(-1) @ v

    def join(self, mixed):
        return mixed.transpose(1, 2).flatten(2)

    def forward(self, x, hidden=None):
        return self.out(self.join(self.mix(*self.split(x))))


class Summed(Own):
    """One head's channels are read by the last matrix: of all, the sum."""

    def __init__(self):
        super().__init__(joined=4)

    def join(self, mixed):
        return mixed.sum(1)


class OneMatrix(Own):
    """One matrix makes queries, keys and values."""

    def split(self, x):
        return [super().split(x)[0]] * 3


class OneOfTwo(Own):
    """Keys are queries."""

    def split(self, x):
        q, _, v = super().split(x)
        return q, q, v


HEADS, MOST = 4, 8
APART = torch.arange(MOST)[:, None] - torch.arange(MOST)
SLOPES = 2.0 ** -torch.arange(1, 1 + HEADS)[:, None, None]


class Biased(Own):
    """Something (H, T, T) is added to the scores, which may be handed to one
    call with the mask."""

    def __init__(self, bias, fused=False, causal=True):
        super().__init__(fused=fused)
        self.bias, self.causal = bias, causal
        self.table = nn.Parameter(torch.randn(MOST, MOST, HEADS))

    def mix(self, q, k, v):
        t = q.shape[2]
        bias = self.bias(self.table[:t, :t], APART[:t, :t])
        hidden = (APART[:t, :t] < 0) & self.causal
        if self.fused:
            mask = bias.expand(HEADS, t, t).masked_fill(hidden, -torch.inf)
            return scaled_dot_product_attention(q, k, v, attn_mask=mask)
        scores = (q @ k.mT / 2 + bias).masked_fill(hidden, -torch.inf)
        return scores.softmax(-1) @ v


def alibi(table, apart):
    return -SLOPES * apart.abs()


def by_key(table, apart):
    """As BLOOM has it: a row of numbers of positions for each head."""
    return SLOPES * torch.arange(len(apart))


def free(table, apart):
    return table.permute(2, 0, 1)


def viewed(table, apart):
    rows = table.flatten(0, 1)[apart.clamp(-5, 5) + 5]
    return rows.reshape(HEADS, *apart.shape)


def looking_far(table, apart):
    return -alibi(table, apart)


def by_query(table, apart):
    return -SLOPES * torch.arange(len(apart))[:, None]


def biased(bias, **options):
    return partial(Nameless, partial(Biased, bias, **options))
