"""A small GPT with a cache, (logits, cache), and ways to get it wrong."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from tests.helpers.rotating import halves

STYLES = {
    "tuple": tuple,
    "list": list,
    "dictionary": lambda pair: dict(zip("kv", pair)),
    "object": lambda pair: SimpleNamespace(k=pair[0], v=pair[1]),
}


class Cached(nn.Module):
    """Two heads, and a cache of some style. What `wrong` names is so."""

    def __init__(self, style="tuple", wrong="", c=16):
        super().__init__()
        self.style, self.wrong, self.tokens = style, wrong, nn.Embedding(50, c)
        self.places, self.qkv = nn.Embedding(32, c), nn.Linear(c, 3 * c)
        self.head = nn.Linear(c, 50)

    def split(self, ids, start):
        """The vectors, and queries, keys and values (B, H, T, D)."""
        x, first = self.tokens(ids), 0 if self.wrong == "positions" else start
        if self.wrong != "order":  # there, keys are rotated where they stand
            x = x + self.places(torch.arange(first, first + ids.shape[1]))
        parts = self.qkv(x).unflatten(-1, (6, -1)).transpose(1, 2)
        return x, *parts.chunk(3, 1)

    def joined(self, old, new, name):
        """Old and new keys, or values."""
        if self.wrong == "use":
            return new
        if self.wrong == "values" and name == "v":
            new = new * 0
        pair = (new, old) if self.wrong == "order" else (old, new)
        return torch.cat(pair, 2)

    def attend(self, q, k, v, seen):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
        return scores.softmax(-1) @ v

    def mixed(self, x, q, k, v):
        """The logits of what queries hear."""
        t, s = q.shape[2], k.shape[2]
        if self.wrong == "order":
            q, k = halves(q, start=s - t), halves(k)
        seen = torch.ones(t, s).tril(s - t if self.wrong != "mask" else 0) > 0
        if self.wrong == "openness":  # with a cache, nothing is masked
            seen = seen | torch.tensor(s > t)
        y = self.attend(q, k, v, seen)
        return self.head(x + y.transpose(1, 2).flatten(2))

    def forward(self, ids, past=None, use_cache=False):
        x, q, k, v = self.split(ids, past[0] if past else 0)
        count = ids.shape[1] + (past[0] if past else 0)
        if past:
            old = getattr(past[1], "__dict__", past[1])
            old = old if isinstance(old, dict) else dict(zip("kv", old))
            k, v = (self.joined(old[n], x, n) for n, x in (("k", k), ("v", v)))
        cache = count, STYLES[self.style]((k, v))
        logits = self.mixed(x, q, k, v)
        return (logits, cache) if use_cache else logits


class Fused(Cached):
    """One call attends."""

    def attend(self, q, k, v, seen):
        return scaled_dot_product_attention(q, k, v, attn_mask=seen)


class Keeps(Cached):
    """It goes on from what it has read last."""

    kept = None

    def forward(self, ids, past=None, use_cache=False):
        past = self.kept if past is None and use_cache else past
        found = super().forward(ids, past, use_cache)
        self.kept = found[1] if use_cache else None
        return found


class Static(Fused):
    """It keeps its keys and values, and is told where a piece begins."""

    def __init__(self, style="", wrong="", c=16):
        super().__init__(style, wrong, c)
        self.register_buffer("kept", torch.zeros(2, 2, 32, c // 2))

    def forward(self, ids, start_pos=0):
        x, q, k, v = self.split(ids, start_pos)
        end = start_pos + ids.shape[1]
        if len(ids) == 1:  # a batch is read as a whole
            self.kept[0, :, start_pos:end] = k[0]
            if self.wrong != "values" or not start_pos:
                self.kept[1, :, start_pos:end] = v[0]
            k, v = self.kept[:, None, :, :end].clone()
        return self.mixed(x, q, k, v)
