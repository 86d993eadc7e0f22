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
        self.weight = nn.Parameter(torch.ones(1, channels))
        self.bias = nn.Parameter(torch.zeros(1, channels))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        deviation = x.std(dim=-1, keepdim=True)
        normal = (x - mean) / (deviation + 1e-7)
        return self.weight * normal + self.bias


class Bend(nn.Module):
    """Four times as wide, ReLU, and back."""

    def __init__(self, channels):
        super().__init__()
        self.hidden = random_matrix(channels, 4 * channels)
        self.output = random_matrix(4 * channels, channels)

    def forward(self, x):
        return torch.relu(x @ self.hidden) @ self.output


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


class Reader(nn.Module):
    """One block of the encoder: it adds what a sublayer makes of the
    normalised input."""

    def __init__(self, channels, heads, head_channels):
        super().__init__()
        self.self_attention = Heads(channels, heads, head_channels)
        self.feed_forward = Bend(channels)
        self.norms = nn.ModuleList(Norm(channels) for _ in range(2))

    def forward(self, x, src_mask):
        rows = self.norms[0](x)
        x = x + self.self_attention(rows, rows, rows, src_mask)
        return x + self.feed_forward(self.norms[1](x))


class Writer(nn.Module):
    """One block of the decoder."""

    def __init__(self, channels, heads, head_channels):
        super().__init__()
        self.self_attention = Heads(channels, heads, head_channels)
        self.cross_attention = Heads(channels, heads, head_channels)
        self.feed_forward = Bend(channels)
        self.norms = nn.ModuleList(Norm(channels) for _ in range(3))

    def forward(self, x, memory, src_mask, tgt_mask):
        rows = self.norms[0](x)
        x = x + self.self_attention(rows, rows, rows, tgt_mask)
        rows = self.norms[1](x)
        x = x + self.cross_attention(rows, memory, memory, src_mask)
        return x + self.feed_forward(self.norms[2](x))


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


class Translator(nn.Module):
    """The whole model, with the source's sizes. Masks: 0 = hidden."""

    def __init__(self, words=1024, length=8, channels=12, heads=3):
        super().__init__()
        sizes = channels, heads, channels // heads
        self.src_words = Words(channels, words)
        self.tgt_words = Words(channels, words)
        self.src_places = Places(channels, length)
        self.tgt_places = Places(channels, length)
        self.encoder = Tower(channels, [Reader(*sizes)])
        self.decoder = Tower(channels, [Writer(*sizes)])
        self.head = random_matrix(channels, words)

    def forward(self, src, tgt, src_mask, tgt_mask):
        x = self.src_places(self.src_words(src))
        memory = self.encoder(x, src_mask)
        x = self.tgt_places(self.tgt_words(tgt))
        return self.decoder(x, memory, src_mask, tgt_mask) @ self.head
