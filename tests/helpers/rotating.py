"""Small GPTs whose queries and keys are rotated: right, and wrong."""

from functools import partial

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention, silu


def angles(x, sign=1, start=0, halves=True):
    """Angles for all channels of x (B, H, T, D): (T, D)."""
    t, d = x.shape[-2:]
    speeds = 100 ** (-torch.arange(0, d, 2) / d)
    steps = sign * torch.arange(start, start + t)[:, None] * speeds
    return steps.repeat(1, 2) if halves else steps.repeat_interleave(2, -1)


def halves(x, **how):
    """Rotate channels i and i + D/2."""
    a, (one, other) = angles(x, **how), x.chunk(2, -1)
    return x * a.cos() + torch.cat((-other, one), -1) * a.sin()


back = partial(halves, sign=-1)


def neighbours(x, **how):
    """Rotate channels 2i and 2i + 1."""
    a, one, other = angles(x, halves=False, **how), x[..., ::2], x[..., 1::2]
    across = torch.stack((-other, one), -1).flatten(-2)
    return x * a.cos() + across * a.sin()


def partly(x, **how):
    """Half of the channels are not rotated."""
    one, other = x.chunk(2, -1)
    return torch.cat((halves(one, **how), other), -1)


def growing(x, by=1.1):
    """xPos: queries grow with their position, and keys shrink."""
    return halves(x) * by ** torch.arange(x.shape[-2])[:, None]


def as_it_is(x, **how):
    return x


class Attention(nn.Module):
    def __init__(self, q=halves, k=halves, c=16, heads=2, fused=True):
        super().__init__()
        self.turn, self.heads, self.fused = (q, k), heads, fused
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)

    def places(self, q, k, v):
        return self.turn[0](q), self.turn[1](k), v

    def forward(self, x):
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = self.places(*parts.permute(2, 0, 3, 1, 4))
        if self.fused:
            mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones_like(scores[0, 0]).triu(1) > 0
            mixed = scores.masked_fill(future, -torch.inf).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))


class OfValues(Attention):
    def places(self, q, k, v):
        return *super().places(q, k, v)[:2], halves(v)


class Block(nn.Module):
    def __init__(self, attention, c=16):
        super().__init__()
        self.attention = attention
        self.one, self.two = nn.RMSNorm(c), nn.RMSNorm(c)
        self.gate, self.up = nn.Linear(c, 24), nn.Linear(c, 24)
        self.down = nn.Linear(24, c)

    def forward(self, x):
        x = x + self.attention(self.one(x))
        y = self.two(x)
        return x + self.down(silu(self.gate(y)) * self.up(y))


class Turning(nn.Module):
    """Ids (B, T) -> logits (B, T, V), by two blocks with such attention."""

    def __init__(self, *q_and_k, kind=Attention, layers=2, **options):
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.blocks = nn.ModuleList(
            Block(kind(*q_and_k, **options)) for _ in range(layers)
        )
        self.norm, self.head = nn.RMSNorm(16), nn.Linear(16, 50, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
