"""Source 001 (document 001_e06d848c9026d362): the building blocks; and source
002 (document 002_c6d4b52e829c7bb3): a character language model.

The arithmetic is that of 001's six classes and of 002's model.py, with its
peculiarities; the writing is ours. Source 001 stops before the blocks:
`PreBlock` puts its residual connections around its layers.
"""

import math

import torch
from torch import nn


class Words(nn.Module):
    """001: an embedding times the square root of its channels."""

    def __init__(self, words: int, channels: int):
        super().__init__()
        self.factor = math.sqrt(channels)
        self.table = nn.Embedding(words, channels)

    def forward(self, ids):
        return self.table(ids) * self.factor


class Places(nn.Module):
    """001: waves, tabulated in single precision, then dropout."""

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
    """Attention with biases. What is hidden scores −1e9 in 001, which drops
    weights, and −inf in 002, which drops none."""

    def __init__(self, channels, heads, dropout=0.0, hidden=-1e9):
        super().__init__()
        assert channels % heads == 0
        self.sizes, self.hidden = (heads, channels // heads), hidden
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.value = nn.Linear(channels, channels)
        self.output = nn.Linear(channels, channels)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def split(self, x):
        return x.view(x.size(0), -1, *self.sizes).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.query(q), self.key(k), self.value(v)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.sizes[1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, self.hidden)
        weights = self.drop(torch.softmax(scores, dim=-1))
        return self.output((weights @ v).transpose(1, 2).flatten(2))


class Bend(nn.Module):
    """001, and 003: dropout between two linear layers, after the ReLU."""

    def __init__(self, channels: int, hidden: int, dropout: float):
        super().__init__()
        self.hidden = nn.Linear(channels, hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, channels)

    def forward(self, x):
        return self.output(self.dropout(torch.relu(self.hidden(x))))


class LateBend(Bend):
    """002: dropout behind the second layer."""

    def forward(self, x):
        return self.dropout(self.output(torch.relu(self.hidden(x))))


class Norm(nn.Module):
    """001: the unbiased deviation, with 1e-6 added to it."""

    def __init__(self, channels: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        deviation = x.std(-1, keepdim=True)
        return self.weight * (x - mean) / (deviation + self.eps) + self.bias


class PreBlock(nn.Module):
    """001: normalise, apply a sublayer, drop, add; in the paper's order."""

    def __init__(self, channels, heads, hidden, dropout):
        super().__init__()
        self.self_attention = Heads(channels, heads, dropout)
        self.feed_forward = Bend(channels, hidden, dropout)
        self.norms = nn.ModuleList(Norm(channels) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        rows = self.norms[0](x)
        x = x + self.dropout(self.self_attention(rows, rows, rows, mask))
        return x + self.dropout(self.feed_forward(self.norms[1](x)))


class PostBlock(nn.Module):
    """002: the feed-forward branch is dropped a second time here."""

    def __init__(self, channels, heads, hidden, dropout):
        super().__init__()
        self.self_attention = Heads(channels, heads, hidden=-math.inf)
        self.feed_forward = LateBend(channels, hidden, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        mixed = self.self_attention(x, x, x, mask)
        x = self.norms[0](x + self.dropout(mixed))
        return self.norms[1](x + self.dropout(self.feed_forward(x)))


class CharacterModel(nn.Module):
    """002: blocks under a causal mask, a norm, and a head without bias; with
    the sizes of its train.py."""

    def __init__(self, characters=65, channels=128, longest=64):
        super().__init__()
        self.longest = longest
        self.tokens = nn.Embedding(characters, channels)
        self.positions = nn.Embedding(longest, channels)
        self.dropout = nn.Dropout(0.1)
        blocks = [PostBlock(channels, 4, 256, 0.1) for _ in range(2)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, characters, bias=False)

    def forward(self, ids):
        length = ids.shape[1]
        if length > self.longest:
            raise ValueError(f"{length=} > {self.longest=}")
        places = torch.arange(0, length, device=ids.device).unsqueeze(0)
        x = self.dropout(self.tokens(ids) + self.positions(places))
        square = torch.ones(length, length, device=ids.device)
        mask = torch.tril(square).unsqueeze(0).unsqueeze(0)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))
