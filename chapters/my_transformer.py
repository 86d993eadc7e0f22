"""A Transformer that learns to translate. Its files, and each of its lines
explained: https://your_account.github.io/transformer-shape-by-shape

    python my_transformer.py train [FILE]      pairs.tsv -> translator.pt
    python my_transformer.py ["Hari saw us."]  translates this, or examples
"""
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

def print_shapes(model):  # chapter 0
    def show(module, inputs, output):
        shapes = [tuple(x.shape) for x in inputs if x is not None]
        print(names[module], *shapes, "->", tuple(output.shape))

    names = {m: f"{p} {type(m).__name__}" for p, m in model.named_modules()}
    return [module.register_forward_hook(show) for module in names]

UNK, PAD, SOS, EOS = range(4)  # chapter 1

def split(text):
    return "".join(f" {c} " if c in ".,!?।" else c for c in text).split()

def vocabulary(texts):
    words = sorted({word for text in texts for word in split(text)})
    return {word: i for i, word in enumerate(words, start=4)}

def encode(text, ids, length=8):
    row = [SOS] + [ids.get(word, UNK) for word in split(text)] + [EOS]
    return torch.tensor([row + [PAD] * (length - len(row))])

def decode(row, ids):
    words = {number: word for word, number in ids.items()}
    row = row[1 : row.index(EOS)] if EOS in row else row[1:]
    text = " ".join(words.get(number, "[UNK]") for number in row)
    return text.replace(" ?", "?").replace(" .", ".").replace(" ,", ",")

def read_pairs(path):
    with open(path, encoding="utf-8-sig") as file:
        lines = {x.strip(" \n").replace('"', "").lower() for x in file}
    rows = [f"{x}\t\t".split("\t")[:3] for x in sorted(lines) if x]
    bad = [x for x in rows if "" in [y.strip(" 0123456789") for y in x[:2]]]
    sources, targets, marks = [[x[i] for x in rows] for i in range(3)]
    if bad or min(len(set(sources)), len(set(targets))) < 20:
        sys.exit(f"{path} needs 20 different pairs: text, tab, text. "
                 f"Bad: {len(bad)} of {len(rows)}, see {(bad or rows)[:3]}")
    tests = {text for text, mark in zip(sources, marks) if mark == "test"}
    return sources, targets, tests or set(sources[::10])

class TokenEmbedding(nn.Embedding):  # chapter 2
    def reset_parameters(self):
        nn.init.normal_(self.weight, std=self.embedding_dim**-0.5)

    def forward(self, ids):
        return super().forward(ids) * self.embedding_dim**0.5

class LearnedPositions(nn.Module):  # chapter 3
    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.5**0.5)

    def forward(self, x):
        return x + self.table[: x.shape[1]]

class InputEmbedding(nn.Module):
    def __init__(self, vocab_size, max_len, d_model):
        super().__init__()
        self.tokens = TokenEmbedding(vocab_size, d_model)
        self.positions = LearnedPositions(max_len, d_model)

    def forward(self, ids):
        return self.positions(self.tokens(ids))

def split_heads(x, n_heads):  # chapter 5
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def join_heads(x):
    return x.transpose(1, 2).flatten(-2)

def padding_mask(ids, pad):  # chapter 7
    return (ids != pad)[:, None, None, :]

def causal_mask(t):
    return torch.ones(1, 1, t, t, dtype=torch.bool).tril()

def dot_product_attention(q, k, v, mask=None):  # chapter 8
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, source=None, mask=None):
        source = x if source is None else source
        q = split_heads(self.query(x), self.n_heads)
        k = split_heads(self.key(source), self.n_heads)
        v = split_heads(self.value(source), self.n_heads)
        heads = dot_product_attention(q, k, v, mask)
        return self.output(join_heads(heads))

class FeedForward(nn.Module):  # chapter 9
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.hidden = nn.Linear(d_model, d_ff, bias=False)
        self.output = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))

class Block(nn.Module):  # chapter 10
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
        blocks = [block(d_model, n_heads, d_ff) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *context):
        for block in self.blocks:
            x = block(x, *context)
        return self.norm(x)

class CrossBlock(Block):  # chapter 11
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norms.append(nn.LayerNorm(d_model))

    def forward(self, x, memory, mask=None, memory_mask=None):
        first, second, third = self.norms
        x = x + self.self_attention(first(x), mask=mask)
        x = x + self.cross_attention(second(x), memory, memory_mask)
        return x + self.feed_forward(third(x))

class EncoderDecoder(nn.Module):  # chapter 12
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
        mask = padding_mask(tgt, PAD) & causal_mask(tgt.shape[1])
        x = self.tgt_embedding(tgt)
        x = self.decoder(x, memory, mask, padding_mask(src, PAD))
        return self.head(x)

@torch.no_grad()
def greedy(model, src, start=(SOS,)):
    memory, tgt = model.encode(src), torch.full_like(src, PAD)
    tgt[:, : len(start)] = torch.tensor(start)
    for t in range(len(start), tgt.shape[1]):
        best = model.decode(tgt, memory, src)[:, t - 1].argmax(-1)
        tgt[:, t] = torch.where((tgt == EOS).any(-1), PAD, best)
    return tgt

def load(path="translator.pt"):
    sizes, english, nepali, numbers = torch.load(path, weights_only=True)
    model = EncoderDecoder(*sizes)
    model.load_state_dict(numbers)
    return model, english, nepali

def learn(model, src, tgt, steps=2000, lr=0.02):  # chapter 13
    adam = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        rows = torch.randint(len(src), (64,))
        logits = model(src[rows], tgt[rows, :-1])
        loss = cross_entropy(logits.mT, tgt[rows, 1:], ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        factor = min(step / 65, 1, 3 - 3 * (step - 1) / steps)
        adam.param_groups[0]["lr"] = lr * factor
        adam.step()
        yield loss.item()

def train(path="pairs.tsv", to="translator.pt", steps=2000, seed=1):
    torch.manual_seed(seed)
    sources, targets, tests = read_pairs(path)
    learned = [x for x in zip(sources, targets) if x[0] not in tests]
    english, nepali = (vocabulary(side) for side in zip(*learned))
    length = 2 + max(len(split(text)) for text in sources + targets)
    sizes = 4 + max(len(english), len(nepali)), length, 1, 12, 3, 48
    model, best = EncoderDecoder(*sizes), 0
    src = torch.cat([encode(text, english, length) for text in sources])
    tgt = torch.cat([encode(text, nepali, length) for text in targets])
    old = torch.tensor([text not in tests for text in sources])
    print(f"{len(sources)} pairs, {(src[~old] == UNK).sum()} words unknown")
    for step, loss in enumerate(learn(model, src[old], tgt[old], steps), 1):
        if step % 100 == 0 or step == steps:
            right = (greedy(model, src[~old]) == tgt[~old]).all(-1).sum()
            print(f"{step}: loss {loss:.2f}, {right} of {len(tests)} right")
            if right >= best:
                best = right
                torch.save((sizes, english, nepali, model.state_dict()), to)

def translate(text, model, english, nepali):  # chapter 14
    text, _, begin = text.lower().partition("|")
    words, length = split(text), len(model.src_embedding.positions.table)
    if unknown := [word for word in words if word not in english]:
        print("It never learned", *unknown, "so this is a guess:")
    if not 0 < len(words) < length - 1:
        sys.exit(f"{len(words)} words and signs, not 1 to {length - 2}")
    start = encode(begin, nepali, 0)[0, :-1][:length].tolist()
    tgt = greedy(model, encode(text, english, length), start)
    return decode(tgt[0].tolist(), nepali)

def main(*texts):
    if texts[:1] == ("train",):
        return train(*texts[1:2])
    model, english, nepali = load()
    for text in texts or ("We saw Ram.", "Ram saw us."):
        print(text, "→", wrote := translate(text, model, english, nepali))
    if not texts:
        print_shapes(model)
        model(encode(text.lower(), english, 0), encode(wrote, nepali, 0))

if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, UnicodeError) as error:
        sys.exit(f"{error}\n\n{__doc__}")
