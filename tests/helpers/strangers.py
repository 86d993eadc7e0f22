"""Right models as strangers write them: no check may call one a bug."""

import torch
from torch import nn
from torch.nn.functional import gelu, normalize, rms_norm

IDS = torch.randint(2, 50, (2, 7), generator=torch.Generator().manual_seed(0))
PADDED = IDS.clone()
PADDED[1, 5:] = 1
LEFT = IDS.clone()
LEFT[1, :2] = 1
MASK = (PADDED != 1).long()
PLACES = torch.arange(7).expand(2, 7)


class Attention(nn.Module):
    """Causal attention by einsum, (B, T, C) -> (B, T, C), with whatever a
    model does to queries, keys and scores."""

    hidden = float("-inf")

    def __init__(self, c=16, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(c, 3 * c), nn.Linear(c, c)

    def shape(self, q, k):
        """Change queries and keys (B, T, H, D) before the product."""
        return q / q.shape[-1] ** 0.5, k

    def weigh(self, scores):
        """Make weights of masked scores."""
        return scores.softmax(-1)

    def cap(self, scores):
        """Change scores before the mask."""
        return scores

    def forward(self, x, hidden=None):
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).unbind(2)
        q, k = self.shape(*parts[:2])
        scores = self.cap(torch.einsum("bqhd,bkhd->bhqk", q, k))
        future = torch.ones(x.shape[1], x.shape[1]).triu(1) > 0
        if hidden is not None:
            future = future | hidden[:, None, None]
        weights = self.weigh(scores.masked_fill(future, self.hidden))
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, parts[2])
        return self.proj(mixed.flatten(2))


class Capped(Attention):
    """A soft cap on the scores, as Gemma 2 has it."""

    def cap(self, scores):
        return 5 * torch.tanh(scores / 5)


class Cosine(Attention):
    """Queries and keys of length 1, and a scale that is learned."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(10.0))

    def shape(self, q, k):
        return normalize(q, dim=-1) * self.scale, normalize(k, dim=-1)


class Finite(Attention):
    """What is hidden has a finite score: a row may have nobody to hear."""

    hidden = -1e9


class Sink(Attention):
    """Each head has a score that belongs to no position."""

    def __init__(self):
        super().__init__()
        self.sinks = nn.Parameter(torch.zeros(4, 1, 1))

    def weigh(self, scores):
        rows = self.sinks.expand(len(scores), -1, scores.shape[2], 1)
        return torch.cat([scores, rows], -1).softmax(-1)[..., :-1]


class Talking(Attention):
    """Heads are mixed before the softmax, and below after it."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(4, 4))

    def cap(self, scores):
        return torch.einsum("bhqk,hg->bgqk", scores, self.mix)


class MixedAfter(Talking):
    cap = Attention.cap

    def weigh(self, scores):
        return super().cap(scores.softmax(-1))


class GemmaNorm(nn.Module):
    """RMSNorm whose gain is 1 + w, and has moved since."""

    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        return rms_norm(x, x.shape[-1:], eps=1e-6) * (1 + self.weight)


class Block(nn.Module):
    """Pre-norm by default; `after` is a norm of what a sublayer gives."""

    def __init__(self, attention=Attention, norm=nn.LayerNorm, after=False):
        super().__init__()
        self.attention = attention()
        self.norms = nn.ModuleList(norm(16) for _ in range(2))
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
        self.after = after

    def feed(self, x):
        return self.down(gelu(self.up(x)))

    def forward(self, x, hidden=None):
        one, other = self.norms
        if self.after:
            x = x + one(self.attention(x, hidden))
            return x + other(self.feed(x))
        x = x + self.attention(one(x), hidden)
        return x + self.feed(other(x))


class GPT(nn.Module):
    """Ids (B, T) -> logits (B, T, V); id 1 is padding where `pads`."""

    def __init__(self, pads=False, cap=None, **options):
        super().__init__()
        norm = options.get("norm", nn.LayerNorm)
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(16, 16)
        self.blocks = nn.ModuleList(Block(**options) for _ in range(2))
        self.norm, self.head = norm(16), nn.Linear(16, 50, bias=False)
        self.pads, self.cap = pads, cap

    def forward(self, ids, places=None):
        if places is None:
            places = torch.arange(ids.shape[1])
        x = self.tokens(ids) + self.places(places)
        return self.read(x, ids == 1 if self.pads else None)

    def read(self, x, hidden=None):
        """The logits of vectors, of which some may be hidden."""
        for block in self.blocks:
            x = block(x, hidden)
        logits = self.head(self.norm(x))
        return self.cap * torch.tanh(logits / self.cap) if self.cap else logits


class FromTheLeft(GPT):
    """Padding stands on the left, and words are counted from the first."""

    def __init__(self):
        super().__init__(pads=True, attention=Finite)

    def forward(self, ids):
        places = ((ids != 1).cumsum(1) - 1).clamp(min=0)
        return super().forward(ids, places)


class OneBlock(GPT):
    """At padding on the left it gives NaN, which nobody reads."""

    def __init__(self):
        super().__init__(pads=True)
        self.blocks = self.blocks[:1]


class ZeroAtFirst(GPT):
    """The last matrix of each sublayer is 0 at the start."""

    def __init__(self):
        super().__init__()
        for block in self.blocks:
            for last in (block.attention.proj, block.down):
                nn.init.zeros_(last.weight)
                nn.init.zeros_(last.bias)


class Shrunk(GPT):
    """Weights as small as some libraries start with."""

    def __init__(self, size):
        super().__init__()
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=size)


class Unscaled(Attention):
    def shape(self, q, k):
        return q, k


class Small(GPT):
    """T5's start: queries are smaller by the root of D."""

    def __init__(self, factor):
        super().__init__(attention=Unscaled)
        for block in self.blocks:
            block.attention.qkv.weight.data[:16] *= factor
            block.attention.qkv.bias.data.zero_()


class Several(GPT):
    """Gives hidden states, logits and how many words there were."""

    def forward(self, ids):
        return (ids.shape, ids.ne(1).sum(1), super().forward(ids), ids)


class WithMasks(GPT):
    """Ids, a mask of 0 and 1, and numbers of positions."""

    def forward(self, ids, mask, places):
        return self.read(self.tokens(ids) + self.places(places), mask == 0)


class Kinds(GPT):
    """Adds kinds of tokens (B, T), where it is told them."""

    def __init__(self):
        super().__init__()
        self.blocks[0].told = nn.Linear(1, 50)

    def forward(self, ids, kinds=None):
        x = super().forward(ids)
        told = self.blocks[0].told
        return x if kinds is None else x + told(kinds[..., None].float())


class Reading(nn.Module):
    """A decoder block called (memory, x)."""

    def __init__(self):
        super().__init__()
        self.self_attention = Attention()
        self.cross = nn.MultiheadAttention(16, 4, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))

    def forward(self, memory, x, hidden):
        x = x + self.self_attention(self.norms[0](x))
        y = self.norms[1](x)
        masks = {"key_padding_mask": hidden, "need_weights": False}
        mixed, _ = self.cross(y, memory, memory, **masks)
        return x + mixed


class Encoder(nn.Module):
    """PyTorch's encoder, which gives 0 at padding on its fast path, and takes
    that through nested tensors."""

    def __init__(self, nested=True):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(16, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(
            layer, 2, enable_nested_tensor=nested
        )

    def embed(self, ids):
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))

    def forward(self, ids):
        return self.encoder(self.embed(ids), src_key_padding_mask=ids == 1)


class MemoryFirst(Encoder):
    """That encoder, and decoder blocks that are handed the memory first."""

    embed_target = Encoder.embed

    def __init__(self, nested=True):
        super().__init__(nested)
        self.blocks = nn.ModuleList(Reading() for _ in range(2))
        self.head = nn.Linear(16, 50)

    def forward(self, src, tgt):
        hidden, memory = src == 1, super().forward(src)
        x = self.embed_target(tgt)
        for block in self.blocks:
            x = block(memory, x, hidden[:, : memory.shape[1]])
        return self.head(x)
