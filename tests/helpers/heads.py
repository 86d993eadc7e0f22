"""Attention whose heads can be changed everywhere: right, and wrong."""

import torch
from torch import nn


class Own(nn.Module):
    """Attention in which heads (B, H, T, D) may be changed everywhere."""

    def __init__(self, c=16, heads=4, joined=16):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(c, c) for _ in range(3))
        self.out = nn.Linear(joined, c)

    def split(self, x):
        parts = (y(x) for y in (self.q, self.k, self.v))
        return [
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in parts
        ]

    def join(self, mixed):
        return mixed.transpose(1, 2).flatten(2)

    def forward(self, x, hidden=None):
        q, k, v = self.split(x)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        future = torch.ones_like(scores[0, 0]).triu(1) > 0
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        return self.out(self.join(weights @ v))


class LastIsZero(Own):
    def join(self, mixed):
        kept = torch.tensor([1, 1, 1, 0])[:, None, None]
        return super().join(mixed * kept)


class Summed(Own):
    """One head's channels are read by the last matrix: of all, the sum."""

    def __init__(self):
        super().__init__(joined=4)

    def join(self, mixed):
        return mixed.sum(1)


class Expanded(Own):
    """All heads ask with the queries of one, and answer with its keys."""

    def split(self, x):
        q, k, v = super().split(x)
        return q[:, :1].expand_as(q), k[:, :1].expand_as(k), v


class OneKey(Own):
    """Multi-query attention."""

    def split(self, x):
        q, k, v = super().split(x)
        return q, *(y[:, :1].expand_as(y) for y in (k, v))


class Copies(Own):
    """All heads begin as copies of one."""

    def __init__(self):
        super().__init__()
        for part in (self.q, self.k):
            part.weight.data = part.weight.data[:4].repeat(4, 1)
            part.bias.data = part.bias.data[:4].repeat(4)


class Gated(Own):
    """Each head has a gate, and one is shut at first."""

    def __init__(self):
        super().__init__()
        self.gates = nn.Parameter(torch.tensor([[1.0], [1], [1], [0]]))

    def join(self, mixed):
        return super().join(mixed * self.gates[..., None])
