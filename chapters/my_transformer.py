"""A Transformer that translates English into Nepali, in one file.

`python my_transformer.py` runs it; its trained numbers, translator.pt,
belong beside it. Each part is a cell of The Transformer, Shape by Shape,
whose chapters explain it.
"""

import torch
from torch import nn


# Chapter 0 · A Transformer at work
def print_shapes(model):
    paths = model.named_modules()
    names = {m: f"{path} {type(m).__name__}" for path, m in paths}

    def show(module, given, made):
        shapes = [tuple(x.shape) for x in given if x is not None]
        print(names[module], *shapes, "->", tuple(made.shape))

    return [module.register_forward_hook(show) for module in names]


# Chapter 1 · Text to ids
UNK, PAD, SOS, EOS = range(4)


def encode(text, ids, length=8):
    words = text.replace(".", " .").replace("?", " ?").split()
    row = [SOS, *(ids.get(word, UNK) for word in words), EOS]
    return torch.tensor([row + [PAD] * (length - len(row))])


def decode(row, ids):
    words = {number: word for word, number in ids.items()}
    row = row[1 : row.index(EOS)] if EOS in row else row[1:]
    text = " ".join(words.get(number, "[UNK]") for number in row)
    return text.replace(" ?", "?")


# Chapter 2 · Embedding
class TokenEmbedding(nn.Embedding):
    def reset_parameters(self):
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)

    def forward(self, ids):
        return super().forward(ids) * self.embedding_dim**0.5


# Chapter 3 · Positions
class LearnedPositions(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        table = torch.empty(max_len, d_model)
        self.table = nn.Parameter(nn.init.normal_(table, std=0.5**0.5))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class InputEmbedding(nn.Module):
    def __init__(self, vocab_size, max_len, d_model):
        super().__init__()
        self.tokens = TokenEmbedding(vocab_size, d_model)
        self.positions = LearnedPositions(max_len, d_model)

    def forward(self, ids):
        return self.positions(self.tokens(ids))


# Chapter 5 · Heads
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(-2)


# Chapter 7 · Masks
def padding_mask(ids, pad):
    return (ids != pad)[:, None, None, :]


def causal_mask(t):
    seen = torch.ones(t, t, dtype=torch.bool).tril()
    return seen[None, None]


# Chapter 8 · Softmax, weighted sum, joining
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    any_key = mask.any(-1, keepdim=True)
    hide = torch.where(mask | ~any_key, 0.0, -torch.inf)
    scores = scores + hide
    return torch.softmax(scores, dim=-1) * any_key


def dot_product_attention(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = masked_softmax(scores, mask)
    return weights @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def project(self, x, source=None):
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_heads)
        v = split_heads(self.value(source), self.n_heads)
        return q, k, v

    def forward(self, x, source=None, mask=None):
        q, k, v = self.project(x, source)
        heads = dot_product_attention(q, k, v, mask)
        return self.output(join_heads(heads))


# Chapter 9 · Feed-forward, residual, LayerNorm
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.hidden = nn.Linear(d_model, d_ff, bias=False)
        self.output = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        hidden = torch.relu(self.hidden(x))
        return self.output(hidden)


# Chapter 10 · Encoder block and stack
class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))

    def forward(self, x, mask=None):
        first, second = self.norms
        x = x + self.self_attention(first(x), mask=mask)
        return x + self.feed_forward(second(x))


class Stack(nn.Module):
    def __init__(self, n_layers, block, d_model, n_heads, d_ff):
        super().__init__()
        sizes, layers = (d_model, n_heads, d_ff), range(n_layers)
        self.blocks = nn.ModuleList(block(*sizes) for _ in layers)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *context):
        for block in self.blocks:
            x = block(x, *context)
        return self.norm(x)


# Chapter 11 · Decoder and cross-attention
class CrossBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, mask=None, memory_mask=None):
        first, second, third = self.norms
        x = x + self.self_attention(first(x), mask=mask)
        read = self.cross_attention(second(x), memory, memory_mask)
        x = x + read
        return x + self.feed_forward(third(x))


# Chapter 12 · The whole model
class EncoderDecoder(nn.Module):
    def __init__(self, vocab_size, max_len, n_layers, d_model, *sizes):
        super().__init__()
        self.src_embedding = InputEmbedding(vocab_size, max_len, d_model)
        self.tgt_embedding = InputEmbedding(vocab_size, max_len, d_model)
        self.encoder = Stack(n_layers, Block, d_model, *sizes)
        self.decoder = Stack(n_layers, CrossBlock, d_model, *sizes)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src):
        return self.encoder(self.src_embedding(src), padding_mask(src, PAD))

    def decode(self, tgt, memory, src):
        memory_mask = padding_mask(src, PAD)
        mask = padding_mask(tgt, PAD) & causal_mask(tgt.shape[1])
        x = self.tgt_embedding(tgt)
        return self.head(self.decoder(x, memory, mask, memory_mask))


@torch.no_grad()
def greedy(model, src, max_len=8):
    memory = model.encode(src)
    tgt = torch.full_like(src[:, :1], SOS)
    while tgt.shape[1] < max_len:
        best = model.decode(tgt, memory, src)[:, -1].argmax(-1)
        tgt = torch.cat((tgt, best[:, None]), dim=1)
    return tgt


def load(path="translator.pt"):
    kept = torch.load(path, weights_only=True)
    keys = "vocab_size", "max_len", "n_layers", "d_model", "n_heads", "d_ff"
    model = EncoderDecoder(*(kept["model_config"][key] for key in keys))
    model.load_state_dict(kept["model_state_dict"])
    (_, english), (_, nepali) = kept["tokenizers"]
    return model.eval(), english, nepali


def main(path="translator.pt"):
    model, english, nepali = load(path)
    for text in "we saw ram.", "ram saw us.", "the hungry dog saw hari.":
        src = encode(text, english)
        tgt = greedy(model, src)
        print(text, "→", decode(tgt[0].tolist(), nepali))
    print_shapes(model)
    model(src, tgt)


if __name__ == "__main__":
    main()
