"""Source 000 (document 000_3cd6f3bfcc5e3c96): an English-Nepali Transformer.

The arithmetic is that of the source's "Full Code", operation for operation,
with its peculiarities; the writing is ours.
"""

import torch
from torch import nn


def random_matrix(rows: int, columns: int, scale: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) * scale)


class Words(nn.Module):
    """Rows of a table, divided by the square root of the channels."""

    def __init__(self, channels, words):
        super().__init__()
        self.channels = channels
        self.table = random_matrix(words, channels)

    def forward(self, ids):
        return self.table[ids] * self.channels ** (-1 / 2)


class Places(nn.Module):
    """A learned row for each place in the sentence."""

    def __init__(self, channels, length):
        super().__init__()
        self.table = random_matrix(length, channels)

    def forward(self, x):
        rows = self.table[0 : x.shape[1], :]
        return x + rows


class Norm(nn.Module):
    """The unbiased deviation, with 1e-7 added to it and not to its square."""

    def __init__(self, channels):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1, channels))
        self.shift = nn.Parameter(torch.zeros(1, channels))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        deviation = x.std(dim=-1, keepdim=True)
        normal = (x - mean) / (deviation + 1e-7)
        return self.gain * normal + self.shift


class Bend(nn.Module):
    """Four times as wide, ReLU, and back."""

    def __init__(self, channels):
        super().__init__()
        self.widen = random_matrix(channels, 4 * channels)
        self.narrow = random_matrix(4 * channels, channels)
        self.relu = nn.ReLU()

    def forward(self, x):
        wide = self.relu(x @ self.widen)
        return wide @ self.narrow


def attend(q, k, v, mask):
    """Mixed values and weights; the mask is written into the scores."""
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** (-1 / 2)
    if mask is not None:
        scores.masked_fill_(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


class Heads(nn.Module):
    """Attention in several heads; nothing has a bias."""

    def __init__(self, channels, heads, head_channels):
        super().__init__()
        scale = channels ** (-1 / 2)
        self.sizes = heads, head_channels
        self.channels = channels
        self.query = random_matrix(channels, channels, scale)
        self.key = random_matrix(channels, channels, scale)
        self.value = random_matrix(channels, channels, scale)
        self.output = random_matrix(channels, channels, scale)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], *self.sizes).transpose(1, 2)

    def forward(self, q, k, v, mask):
        rows = q.shape[0]
        q, k, v = q @ self.query, k @ self.key, v @ self.value
        q, k, v = self.split(q), self.split(k), self.split(v)
        mixed, _ = attend(q, k, v, mask)
        joined = mixed.transpose(1, 2).contiguous()
        return joined.view(rows, -1, self.channels) @ self.output


class Skip(nn.Module):
    """Add what a sublayer makes of the normalised input."""

    def __init__(self, channels):
        super().__init__()
        self.norm = Norm(channels)

    def forward(self, x, sublayer):
        return x + sublayer(self.norm(x))


class Reader(nn.Module):
    """One block of the encoder."""

    def __init__(self, channels, heads, head_channels):
        super().__init__()
        self.own = Heads(channels, heads, head_channels)
        self.bend = Bend(channels)
        self.skips = nn.ModuleList(Skip(channels) for _ in range(2))

    def forward(self, x, src_mask):
        x = self.skips[0](x, lambda x: self.own(x, x, x, src_mask))
        return self.skips[1](x, self.bend)


class Writer(nn.Module):
    """One block of the decoder."""

    def __init__(self, channels, heads, head_channels):
        super().__init__()
        self.own = Heads(channels, heads, head_channels)
        self.cross = Heads(channels, heads, head_channels)
        self.bend = Bend(channels)
        self.skips = nn.ModuleList(Skip(channels) for _ in range(3))

    def forward(self, x, memory, src_mask, tgt_mask):
        x = self.skips[0](x, lambda x: self.own(x, x, x, tgt_mask))
        x = self.skips[1](x, lambda x: self.cross(x, memory, memory, src_mask))
        return self.skips[2](x, self.bend)


class Tower(nn.Module):
    """Blocks in turn, and a last norm: the encoder, and the decoder."""

    def __init__(self, channels, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = Norm(channels)

    def forward(self, x, *context):
        for block in self.blocks:
            x = block(x, *context)
        return self.norm(x)


class Projection(nn.Module):
    """A logit for each word."""

    def __init__(self, channels, words):
        super().__init__()
        self.table = random_matrix(channels, words)

    def forward(self, x):
        return x @ self.table


class Translator(nn.Module):
    """The whole model, with the source's sizes. Masks: 0 = hidden."""

    def __init__(
        self,
        words=(1024, 1024),
        lengths=(8, 8),
        sizes=(12, 3, 4),
        layers=1,
    ):
        super().__init__()
        channels = sizes[0]
        self.src_words = Words(channels, words[0])
        self.tgt_words = Words(channels, words[1])
        self.src_places = Places(channels, lengths[0])
        self.tgt_places = Places(channels, lengths[1])
        readers = [Reader(*sizes) for _ in range(layers)]
        self.encoder = Tower(channels, readers)
        writers = [Writer(*sizes) for _ in range(layers)]
        self.decoder = Tower(channels, writers)
        self.head = Projection(channels, words[1])

    def forward(self, src, tgt, src_mask, tgt_mask):
        x = self.src_places(self.src_words(src))
        memory = self.encoder(x, src_mask)
        x = self.tgt_places(self.tgt_words(tgt))
        return self.head(self.decoder(x, memory, src_mask, tgt_mask))
