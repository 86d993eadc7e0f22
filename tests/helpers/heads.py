"""Attention whose heads can be changed everywhere, a part of whose matrices
learns nothing, or that adds something to its scores: right, and wrong."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.places import Nameless


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


class OneParameter(Own):
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


HEADS, MOST = 4, 8


APART = torch.arange(MOST)[:, None] - torch.arange(MOST)


SLOPES = 2.0 ** -torch.arange(1, 1 + HEADS)[:, None, None]


SEEN = APART >= 0


class Biased(Own):
    """Something (H, T, T) is added to the scores, which may be handed to one
    call with the mask."""

    def __init__(self, bias, fused=False, causal=True):
        super().__init__()
        self.bias, self.fused, self.causal = bias, fused, causal
        self.table = nn.Parameter(torch.randn(MOST, MOST, HEADS))

    def forward(self, x, hidden=None):
        t = x.shape[1]
        bias = self.bias(self.table[:t, :t], APART[:t, :t])
        hidden = ~SEEN[:t, :t] & self.causal
        q, k, v = self.split(x)
        if self.fused:
            mask = bias.expand(HEADS, t, t).masked_fill(hidden, -torch.inf)
            made = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = (q @ k.mT / 2 + bias).masked_fill(hidden, -torch.inf)
            made = scores.softmax(-1) @ v
        return self.out(self.join(made))


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


def biased(*options):
    return Nameless(lambda: Biased(*options))
