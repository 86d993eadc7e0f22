"""Small language models that are given padded rows: right, and wrong."""

import torch
from torch import nn

from tests.helpers.rotating import halves

IDS = torch.randint(2, 40, (2, 9), generator=torch.Generator().manual_seed(0))
LEFT, RIGHT = IDS.clone(), IDS.clone()
LEFT[1, :4], RIGHT[1, 5:] = 0, 0


class Padded(nn.Module):
    """Ids (B, T), a mask (B, T) and a dictionary of keys and values."""

    def __init__(self, c=16, heads=2):
        super().__init__()
        self.heads, self.tokens = heads, nn.Embedding(40, c)
        self.places, self.head = nn.Embedding(32, c), nn.Linear(c, 40)
        self.parts = nn.ModuleList(nn.Linear(c, c) for _ in range(8))

    def numbers(self, mask, start):
        """The positions of new words."""
        return (mask.cumsum(-1) - 1).clamp(min=0)[:, start:]

    def hidden(self, mask, start):
        """Which keys are padding: (B, 1, 1, S)."""
        return mask[:, None, None] == 0

    def turned(self, x, start):
        return x

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, ids, attention_mask=None, past=None, use_cache=False):
        (b, t), start = ids.shape, past["length"] if past else 0
        mask = attention_mask
        if mask is None:
            mask = ids.new_ones(b, start + t)
        x = self.tokens(ids) + self.places(self.numbers(mask, start))
        later = torch.ones(t, start + t).triu(start + 1) > 0
        hidden, cache = later | self.hidden(mask, start), {"length": start + t}
        for n in range(2):
            q, k, v = (self.split(part(x)) for part in self.parts[4 * n :][:3])
            q, k = self.turned(q, start), self.turned(k, start)
            if past:
                k, v = (torch.cat(y, 2) for y in zip(past[n], (k, v)))
            cache[n] = k, v
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -1e9)
            mixed = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
            x = x + self.parts[4 * n + 3](mixed)
        return (self.head(x), cache) if use_cache else self.head(x)


class Counted(Padded):
    """Padding is counted as words are."""

    def numbers(self, mask, start):
        return torch.arange(start, mask.shape[1])[None]


class Rotated(Counted):
    """Right: only distances matter."""

    def __init__(self):
        super().__init__()
        self.places.weight.data.zero_()

    def turned(self, x, start):
        return halves(x, start=start)


class HeardLater(Padded):
    """The mask of padding is for the first piece only."""

    def hidden(self, mask, start):
        return super().hidden(mask, start) & torch.tensor(start == 0)


class HeardRotated(HeardLater, Rotated):
    """So it is here."""


class Heard(Padded):
    """The mask is for positions only."""

    def hidden(self, mask, start):
        return torch.zeros(1, dtype=torch.bool)
