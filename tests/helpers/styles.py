"""Models in the ways that other people's lessons are written, none copied."""

import math
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn import functional

# The ways of nanoGPT and minGPT: a window of places, its mask a buffer.


class WindowAttention(nn.Module):
    """One matrix for all three, and a mask that is cut to the length."""

    def __init__(self, channels: int, heads: int, window: int):
        super().__init__()
        self.c_attn = nn.Linear(channels, 3 * channels)
        self.c_proj = nn.Linear(channels, channels)
        self.n_head, self.n_embd = heads, channels
        mask = torch.tril(torch.ones(window, window))
        self.register_buffer("bias", mask.view(1, 1, window, window))

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = functional.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class WindowBlock(nn.Module):
    def __init__(self, channels: int, heads: int, window: int):
        super().__init__()
        self.ln_1 = nn.LayerNorm(channels)
        self.attn = WindowAttention(channels, heads, window)
        self.ln_2 = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(
            nn.Linear(channels, 4 * channels),
            nn.GELU(),
            nn.Linear(4 * channels, channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class WindowGPT(nn.Module):
    """Logits and a loss that is None, the two tables tied."""

    def __init__(self, vocabulary, channels, heads, window):
        super().__init__()
        self.window = window
        parts = {"wte": nn.Embedding(vocabulary, channels)}
        parts |= {"wpe": nn.Embedding(window, channels)}
        blocks = [WindowBlock(channels, heads, window) for _ in range(2)]
        parts |= {"h": nn.ModuleList(blocks), "ln_f": nn.LayerNorm(channels)}
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(channels, vocabulary, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx: Tensor, targets=None):
        t = idx.size(1)
        assert t <= self.window, f"{t} ids are more than {self.window}"
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos.unsqueeze(0))
        for block in self.transformer.h:
            x = block(x)
        return self.lm_head(self.transformer.ln_f(x)), None


# The way of the Annotated Transformer: copies, sublayers, masks from outside.


def clones(module: nn.Module, n: int) -> nn.ModuleList:
    return nn.ModuleList([deepcopy(module) for _ in range(n)])


class OwnNorm(nn.Module):
    """By the standard deviation, with a 1 below the root of n - 1."""

    def __init__(self, features: int, eps: float = 1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class FourLinears(nn.Module):
    """Queries, keys, values and result, in a list of four equal layers."""

    def __init__(self, h: int, d_model: int):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = clones(nn.Linear(d_model, d_model), 4)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = [
            layer(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for layer, x in zip(self.linears, (query, key, value))
        ]
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        x = scores.softmax(dim=-1) @ value
        x = x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


class Sublayer(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.norm, self.dropout = OwnNorm(size), nn.Dropout(0.1)

    def forward(self, x: Tensor, sublayer) -> Tensor:
        return x + self.dropout(sublayer(self.norm(x)))


class AnnotatedLayer(nn.Module):
    """Of the encoder; of the decoder, where it is called with a memory."""

    def __init__(self, size: int, heads: int, sources: int):
        super().__init__()
        self.attn = clones(FourLinears(heads, size), sources)
        self.feed_forward = nn.Sequential(
            nn.Linear(size, 4 * size), nn.ReLU(), nn.Linear(4 * size, size)
        )
        self.sublayer = clones(Sublayer(size), sources + 1)

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = self.sublayer[0](x, lambda x: self.attn[0](x, x, x, mask))
        if memory is not None:
            m = memory
            attend = self.attn[1]
            x = self.sublayer[1](x, lambda x: attend(x, m, m, memory_mask))
        return self.sublayer[-1](x, self.feed_forward)


class Annotated(nn.Module):
    """Ids (B, S) and (B, T) to the logarithms of probabilities."""

    def __init__(self, vocabulary: int, size: int, heads: int):
        super().__init__()
        self.lut = clones(nn.Embedding(vocabulary, size), 2)
        self.encoder = clones(AnnotatedLayer(size, heads, 1), 2)
        self.decoder = clones(AnnotatedLayer(size, heads, 2), 2)
        self.norms = clones(OwnNorm(size), 2)
        self.generator = nn.Linear(size, vocabulary)
        position = torch.arange(64).unsqueeze(1)
        steps = torch.arange(0, size, 2) * -(math.log(10000.0) / size)
        table = torch.zeros(64, size)
        table[:, 0::2] = torch.sin(position * steps.exp())
        table[:, 1::2] = torch.cos(position * steps.exp())[:, : size // 2]
        self.register_buffer("pe", table.unsqueeze(0))

    def embed(self, lut: nn.Module, ids: Tensor) -> Tensor:
        x = lut(ids) * math.sqrt(self.pe.size(-1))
        return x + self.pe[:, : x.size(1)].requires_grad_(False)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_mask = (src != 1).unsqueeze(-2)
        future = torch.ones(1, tgt.size(-1), tgt.size(-1)).triu(1)
        tgt_mask = (tgt != 1).unsqueeze(-2) & (future == 0)
        x = self.embed(self.lut[0], src)
        for layer in self.encoder:
            x = layer(x, src_mask)
        memory, x = self.norms[0](x), self.embed(self.lut[1], tgt)
        for layer in self.decoder:
            x = layer(x, tgt_mask, memory, src_mask)
        return self.generator(self.norms[1](x)).log_softmax(dim=-1)
