"""Source 002 (document 002_c6d4b52e829c7bb3): a character language model.

The arithmetic is that of the source's model.py, with its peculiarities; the
writing is ours.
"""

import math

import torch
from torch import nn


class Heads(nn.Module):
    """Self-attention with biases; its weights are not dropped."""

    def __init__(self, channels, heads):
        super().__init__()
        assert channels % heads == 0
        self.sizes = heads, channels // heads
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.value = nn.Linear(channels, channels)
        self.output = nn.Linear(channels, channels)

    def split(self, x):
        return x.view(*x.shape[:2], *self.sizes).transpose(1, 2)

    def forward(self, x, mask=None):
        q = self.split(self.query(x))
        k = self.split(self.key(x))
        v = self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores / math.sqrt(self.sizes[1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = torch.matmul(torch.softmax(scores, dim=-1), v)
        joined = mixed.transpose(1, 2).contiguous().view(x.shape)
        return self.output(joined)


class Bend(nn.Module):
    """Two linear layers, and dropout behind the second."""

    def __init__(self, channels, hidden, dropout):
        super().__init__()
        self.hidden = nn.Linear(channels, hidden)
        self.relu = nn.ReLU()
        self.output = nn.Linear(hidden, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.output(self.relu(self.hidden(x))))


class Block(nn.Module):
    """Post-norm. The feed-forward branch is dropped a second time here."""

    def __init__(self, channels, heads, hidden, dropout):
        super().__init__()
        self.self_attention = Heads(channels, heads)
        self.feed_forward = Bend(channels, hidden, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        seen = self.self_attention(x, mask)
        x = self.norms[0](x + self.dropout(seen))
        bent = self.feed_forward(x)
        return self.norms[1](x + self.dropout(bent))


class CharacterModel(nn.Module):
    """Blocks under a causal mask, one more norm, and a head without bias."""

    def __init__(
        self,
        characters,
        channels=128,
        heads=4,
        layers=2,
        hidden=256,
        longest=128,
        dropout=0.1,
    ):
        super().__init__()
        self.longest = longest
        self.tokens = nn.Embedding(characters, channels)
        self.positions = nn.Embedding(longest, channels)
        self.dropout = nn.Dropout(dropout)
        sizes = channels, heads, hidden, dropout
        self.blocks = nn.ModuleList(Block(*sizes) for _ in range(layers))
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
            x = block(x, mask=mask)
        return self.head(self.norm(x))
