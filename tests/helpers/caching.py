"""A small GPT with a cache, (logits, cache), and ways to get it wrong."""

import torch
from torch import nn

from tests.helpers.rotating import halves


class Cached(nn.Module):
    """Rotated queries and keys, one head: ids (B, T) -> (B, T, V), cache."""

    def __init__(self, c=8):
        super().__init__()
        self.tokens, self.qkv = nn.Embedding(50, c), nn.Linear(c, 3 * c)
        self.places, self.head = nn.Embedding(16, c), nn.Linear(c, 50)

    def start(self, past):
        """The position at which the new words begin."""
        return 0 if past is None else past[0].shape[1]

    def turned(self, q, k, start):
        return halves(q, start=start), halves(k, start=start)

    def joined(self, past, new):
        return new if past is None else torch.cat((past, new), 1)

    def seen(self, t, s):
        return torch.ones(t, s).tril(s - t) > 0

    def forward(self, ids, past=None, use_cache=False):
        start, t = self.start(past), ids.shape[1]
        x = self.tokens(ids) + self.places(torch.arange(start, start + t))
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k = self.turned(q, k, start)
        k, v = (
            self.joined(old, new)
            for old, new in zip(past or (None, None), (k, v))
        )
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(
            ~self.seen(t, k.shape[1]), -torch.inf
        )
        logits = self.head(x + scores.softmax(-1) @ v)
        return (logits, (k, v)) if use_cache else logits


class FromZero(Cached):
    """Places begin at 0 again."""

    def start(self, past):
        return 0


class MaskFromZero(Cached):
    """The mask of new words begins at the first old one."""

    def seen(self, t, s):
        return torch.ones(t, s).tril() > 0


class Forgets(Cached):
    """Only the newest are kept."""

    def joined(self, past, new):
        return new


class Told(Cached):
    """It is told where it begins."""

    def forward(self, ids, past=None, use_cache=False, start_pos=0):
        self.begin = start_pos
        return super().forward(ids, past, use_cache)

    def start(self, past):
        return self.begin


class OpenAfterwards(Cached):
    """With a cache, nothing is masked."""

    def seen(self, t, s):
        return super().seen(t, s) | torch.tensor(s > t)


class ByCorner(Cached):
    """The mask of a piece begins at its corner, but for one word alone."""

    def seen(self, t, s):
        return super().seen(t, s) if t == 1 else torch.ones(t, s).tril() > 0


class Keeps(Cached):
    """It goes on from what it has read last."""

    def forward(self, ids, past=None, use_cache=False):
        found = super().forward(ids, self.last(past, use_cache), use_cache)
        self.kept = found[1] if use_cache else None
        return found

    def last(self, past, use_cache):
        kept = getattr(self, "kept", None)
        return kept if past is None and use_cache else past
