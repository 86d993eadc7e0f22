"""A stand-in for nanoGPT's model.py, written afresh: its modules have the
same names and are set up in the same order, so that a seed gives the same
weights. What a page of the book prints of the one, it prints of the other."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention


@dataclass
class GPTConfig:
    block_size: int
    vocab_size: int
    n_layer: int
    n_head: int
    n_embd: int
    dropout: float = 0.0


class CausalSelfAttention(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.c_attn = nn.Linear(c, 3 * c)
        self.c_proj = nn.Linear(c, c)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.heads = config.n_head

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        rows = self.c_attn(x).split(c, dim=2)
        q, k, v = (
            y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            for y in rows
        )
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        joined = mixed.transpose(1, 2).contiguous().view(b, t, c)
        return self.resid_dropout(self.c_proj(joined))


class MLP(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.c_fc = nn.Linear(c, 4 * c)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * c, c)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        c = config.n_embd
        self.transformer = nn.ModuleDict()
        self.transformer["wte"] = nn.Embedding(config.vocab_size, c)
        self.transformer["wpe"] = nn.Embedding(config.block_size, c)
        self.transformer["drop"] = nn.Dropout(config.dropout)
        layers = (Block(config) for _ in range(config.n_layer))
        self.transformer["h"] = nn.ModuleList(layers)
        self.transformer["ln_f"] = nn.LayerNorm(c)
        self.lm_head = nn.Linear(c, config.vocab_size, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        self.apply(start)
        for name, weight in self.named_parameters():
            if name.endswith("c_proj.weight"):
                deep = 0.02 / (2 * config.n_layer) ** 0.5
                nn.init.normal_(weight, mean=0.0, std=deep)
        places = self.transformer["wpe"].weight.numel()
        count = sum(p.numel() for p in self.parameters()) - places
        print(f"number of parameters: {count / 1e6:.2f}M")

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple:
        parts = self.transformer
        places = torch.arange(idx.shape[1])
        x = parts["drop"](parts["wte"](idx) + parts["wpe"](places))
        for block in parts["h"]:
            x = block(x)
        x = parts["ln_f"](x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, cross_entropy(logits.flatten(0, 1), targets.view(-1))


def start(module: nn.Module) -> None:
    """Draw first weights."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if getattr(module, "bias", None) is not None and module.bias.ndim == 1:
        nn.init.zeros_(module.bias)
