"""Source 003 (document 003_47919f9af6024428): the paper's base model.

The arithmetic is that of the source's codeblocks 2 to 25, with its
peculiarities: one batch size and one length are built in, query, key and
value lie head by head, the look-ahead mask is added, waves and mask are made
anew in every pass, padding is not masked. The writing is ours; no prints.
"""

from typing import NamedTuple

import torch
from torch import nn

from tests.helpers.sources_001_002 import Bend


class Sizes(NamedTuple):
    length: int = 200
    src_words: int = 100
    tgt_words: int = 120
    batch: int = 1
    channels: int = 512
    heads: int = 8
    hidden: int = 2048
    layers: int = 6
    dropout: float = 0.1

    @property
    def width(self) -> int:
        return self.channels // self.heads


SIZES = Sizes()


class Waves(nn.Module):
    """Sines and cosines for every place, computed at each call."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes

    def forward(self):
        length, channels = self.sizes.length, self.sizes.channels
        place = torch.arange(length).reshape(length, 1)
        period = torch.pow(10000, torch.arange(0, channels, 2) / channels)
        sines, cosines = torch.sin(place / period), torch.cos(place / period)
        pairs = torch.stack([sines, cosines], dim=2)
        return torch.flatten(pairs, start_dim=1, end_dim=2)


class Attention(nn.Module):
    """The mixed values, and the weights; the mask is a sum."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes

    def look_ahead(self):
        length = self.sizes.length
        mask = torch.tril(torch.ones((length, length)))
        mask[mask == 0] = -float("inf")
        mask[mask == 1] = 0
        return mask.clone().detach()

    def forward(self, q, k, v, masked=False):
        products = torch.matmul(q, k.transpose(-1, -2))
        scores = products / torch.sqrt(torch.tensor(self.sizes.width))
        if masked:
            scores += self.look_ahead()
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, v), weights


class Heads(nn.Module):
    """What both kinds of attention share: dealing out, and joining."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.attention = Attention(sizes)
        self.output = nn.Linear(sizes.channels, sizes.channels)

    def deal(self, x, parts):
        n = self.sizes
        x = x.reshape(n.batch, n.length, n.heads, parts * n.width)
        return x.permute(0, 2, 1, 3)

    def join(self, mixed):
        n, rows = self.sizes, mixed.permute(0, 2, 1, 3)
        rows = rows.reshape(n.batch, n.length, n.heads * n.width)
        return self.output(rows)


class SelfAttention(Heads):
    def __init__(self, sizes, masked=False):
        super().__init__(sizes)
        self.masked = masked
        self.qkv = nn.Linear(sizes.channels, 3 * sizes.channels)

    def forward(self, x):
        q, k, v = self.deal(self.qkv(x), 3).chunk(3, dim=-1)
        mixed, _ = self.attention(q, k, v, masked=self.masked)
        return self.join(mixed)


class CrossAttention(Heads):
    def __init__(self, sizes):
        super().__init__(sizes)
        self.key_value = nn.Linear(sizes.channels, 2 * sizes.channels)
        self.query = nn.Linear(sizes.channels, sizes.channels)

    def forward(self, memory, x):
        k, v = self.deal(self.key_value(memory), 2).chunk(2, dim=-1)
        q = self.deal(self.query(x), 1)
        mixed, _ = self.attention(q, k, v)
        return self.join(mixed)


def bend(sizes):
    return Bend(sizes.channels, sizes.hidden, sizes.dropout)


class Norm(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean(dim=[-1], keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=[-1], keepdim=True)
        normal = (x - mean) / (variance + self.eps).sqrt()
        return (self.weight * normal) + self.bias


class Reader(nn.Module):
    """One of the source's encoders: a layer, dropout, the sum with its
    input, and a norm of the sum, twice."""

    def __init__(self, sizes):
        super().__init__()
        self.self_attention = SelfAttention(sizes)
        self.feed_forward = bend(sizes)
        self.norms = nn.ModuleList(Norm(sizes.channels) for _ in range(2))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x):
        x = self.norms[0](self.dropout(self.self_attention(x)) + x)
        return self.norms[1](self.dropout(self.feed_forward(x)) + x)


class Writer(nn.Module):
    """One of the source's decoders."""

    def __init__(self, sizes):
        super().__init__()
        self.self_attention = SelfAttention(sizes, masked=True)
        self.cross_attention = CrossAttention(sizes)
        self.feed_forward = bend(sizes)
        self.norms = nn.ModuleList(Norm(sizes.channels) for _ in range(3))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, memory, x):
        x = self.norms[0](self.dropout(self.self_attention(x)) + x)
        mixed = self.cross_attention(memory, x)
        x = self.norms[1](self.dropout(mixed) + x)
        return self.norms[2](self.dropout(self.feed_forward(x)) + x)


class Translator(nn.Module):
    def __init__(self, sizes=SIZES):
        super().__init__()
        layers, channels = range(sizes.layers), sizes.channels
        self.src_words = nn.Embedding(sizes.src_words, channels)
        self.tgt_words = nn.Embedding(sizes.tgt_words, channels)
        self.waves = Waves(sizes)
        self.readers = nn.ModuleList(Reader(sizes) for _ in layers)
        self.writers = nn.ModuleList(Writer(sizes) for _ in layers)
        self.head = nn.Linear(channels, sizes.tgt_words)

    def forward(self, src, tgt):
        memory = self.src_words(src) + self.waves()
        for reader in self.readers:
            memory = reader(memory)
        x = self.tgt_words(tgt) + self.waves()
        for writer in self.writers:
            x = writer(memory, x)
        return self.head(x)
