"""Attention in which a part of a matrix learns nothing, and others like it."""

import torch
from torch import nn

from tests.helpers.heads import Own


class Grouped(Own):
    """Two heads of keys and values for four of queries."""

    def __init__(self):
        super().__init__()
        self.k, self.v = nn.Linear(16, 8), nn.Linear(16, 8)

    def each(self, x):
        return x.unflatten(-1, (-1, 4)).transpose(1, 2)

    def split(self, x):
        k, v = (self.each(y(x)) for y in (self.k, self.v))
        return self.each(self.q(x)), self.shared(k), self.shared(v)

    def shared(self, x):
        return x.repeat_interleave(2, 1)


class FirstForAll(Grouped):
    def shared(self, x):
        return x[:, :1].expand(-1, 4, -1, -1)


class Fused(Own):
    """One matrix (C, 3 C), as PyTorch does not have it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Parameter(torch.randn(16, 48) / 4)
        del self.q, self.k, self.v

    def split(self, x):
        parts = (x @ self.qkv).chunk(3, -1)
        return [y.unflatten(-1, (4, 4)).transpose(1, 2) for y in parts]


class LoopEndsEarly(Own):
    """Heads are written to where they belong, but for the last one."""

    heard = 3

    def forward(self, x, hidden=None):
        q, k, v = self.split(x)
        future = torch.ones_like(q[0, 0] @ k[0, 0].mT).triu(1) > 0
        scores = (q @ k.mT / 2).masked_fill(future, -torch.inf)
        weights, made = scores.softmax(-1), torch.zeros_like(v)
        for n in range(self.heard):
            made[:, n] = weights[:, n] @ v[:, n]
        return self.out(self.join(made))


class Letters(Own):
    """Matrices (C, H, D), and letters for their axes."""

    scores = "bqhd,bkhd->bhqk"

    def __init__(self):
        super().__init__()
        self.w = nn.ParameterList(torch.randn(16, 4, 4) / 4 for _ in range(3))
        del self.q, self.k, self.v

    def forward(self, x, hidden=None):
        q, k, v = (torch.einsum("btc,chd->bthd", x, w) for w in self.w)
        future = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
        scores = torch.einsum(self.scores, q, k) / 2
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


class OneMatrix(Own):
    """One matrix makes queries, keys and values."""

    def split(self, x):
        return [super().split(x)[0]] * 3


class OneOfTwo(Own):
    """Keys are queries."""

    def split(self, x):
        q, _, v = super().split(x)
        return q, q, v
