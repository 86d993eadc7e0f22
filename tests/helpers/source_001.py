"""Source 001 (document 001_e06d848c9026d362): the building blocks.

The arithmetic is that of the source's six classes, with its peculiarities;
the writing is ours. The source stops before the blocks: `Block` puts its
residual connection around its attention and its feed-forward layer.
"""

import math

import torch
from torch import nn


class Words(nn.Module):
    """An embedding times the square root of its channels."""

    def __init__(self, words: int, channels: int):
        super().__init__()
        self.factor = math.sqrt(channels)
        self.table = nn.Embedding(words, channels)

    def forward(self, ids):
        return self.table(ids) * self.factor


class Places(nn.Module):
    """Waves, tabulated in single precision, then dropout."""

    def __init__(self, channels: int, dropout: float, longest: int = 5000):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        place = torch.arange(0, longest, dtype=torch.float).unsqueeze(1)
        even = torch.arange(0, channels, 2).float()
        speed = torch.exp(even * (-math.log(10000.0) / channels))
        waves = torch.zeros(longest, channels)
        waves[:, 0::2] = torch.sin(place * speed)
        waves[:, 1::2] = torch.cos(place * speed)
        self.register_buffer("waves", waves.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.waves[:, : x.size(1), :])


class Heads(nn.Module):
    """Attention with biases, −1e9 for what is hidden, dropped weights."""

    def __init__(self, channels: int, heads: int, dropout: float):
        super().__init__()
        assert channels % heads == 0
        self.sizes = heads, channels // heads
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.value = nn.Linear(channels, channels)
        self.output = nn.Linear(channels, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        rows, width = q.size(0), self.sizes[1]
        given = (self.query, q), (self.key, k), (self.value, v)
        q, k, v = (
            linear(x).view(rows, -1, *self.sizes).transpose(1, 2)
            for linear, x in given
        )
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        mixed = (weights @ v).transpose(1, 2).contiguous()
        return self.output(mixed.view(rows, -1, math.prod(self.sizes)))


class Bend(nn.Module):
    """Two linear layers; dropout between them, after the ReLU."""

    def __init__(self, channels: int, hidden: int, dropout: float):
        super().__init__()
        self.hidden = nn.Linear(channels, hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, channels)

    def forward(self, x):
        return self.output(self.dropout(torch.relu(self.hidden(x))))


class Norm(nn.Module):
    """The unbiased deviation, with 1e-6 added to it."""

    def __init__(self, channels: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        deviation = x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (deviation + self.eps) + self.bias


class Skip(nn.Module):
    """Normalise, apply a sublayer, drop, and add."""

    def __init__(self, channels: int, dropout: float):
        super().__init__()
        self.norm = Norm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class Block(nn.Module):
    """The source's parts as an encoder's block; the order is the paper's."""

    def __init__(self, channels: int, heads: int, hidden: int, dropout: float):
        super().__init__()
        self.self_attention = Heads(channels, heads, dropout)
        self.feed_forward = Bend(channels, hidden, dropout)
        skips = [Skip(channels, dropout) for _ in range(2)]
        self.skips = nn.ModuleList(skips)

    def forward(self, x, mask):
        first, second = self.skips
        x = first(x, lambda x: self.self_attention(x, x, x, mask))
        return second(x, self.feed_forward)
