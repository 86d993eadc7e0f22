"""A language model that learns from any text. Each of its lines explained:
https://your_account.github.io/transformer-shape-by-shape

    python my_gpt.py                       learns this very file, and writes
    python my_gpt.py train my_text.txt     learns your text, in two minutes
    python my_gpt.py "Once upon" 0.8 20    continues (temperature, top-k)
"""
import sys
import torch
from torch import nn
from torch.nn.functional import cross_entropy

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

def causal_mask(t):  # chapter 7
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

def sample(logits, temperature=1.0, top_k=None):  # chapter 14
    if top_k:
        least = logits.topk(min(top_k, logits.shape[-1])).values[..., -1:]
        logits = torch.where(logits < least, -torch.inf, logits)
    return torch.softmax(logits / temperature, dim=-1).multinomial(1)

class DecoderOnly(nn.Module):  # chapter 17
    def __init__(self, vocab_size, max_len, n_layers, d_model, *sizes):
        super().__init__()
        self.embedding = InputEmbedding(vocab_size, max_len, d_model)
        self.decoder = Stack(n_layers, Block, d_model, *sizes)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids):
        mask = causal_mask(ids.shape[1])
        return self.head(self.decoder(self.embedding(ids), mask))

def vocabulary(text):
    return {c: i for i, c in enumerate(sorted(set(text)))}

def encode(text, ids):
    if unknown := sorted(set(text) - set(ids)):
        sys.exit(f"The text that was learned has no {unknown}.")
    return torch.tensor([[ids[c] for c in text]])

def decode(row, ids):
    return "".join(sorted(ids)[i] for i in row)

def windows(row, starts, length):
    return row[starts[:, None] + torch.arange(length + 1)]

def loss_on(model, rows):
    return cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])

def learn(model, row, length=64, steps=3500, lr=0.004):
    adam = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        starts = torch.randint(len(row) - length, (12,))
        loss = loss_on(model, windows(row, starts, length))
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        factor = min(step / 100, 1, 3 * (1 - step / steps))
        adam.param_groups[0]["lr"] = lr * factor
        adam.step()
        yield loss.item()

@torch.no_grad()
def generate(model, ids, n, temperature=1.0, top_k=None):
    length = len(model.embedding.positions.table)
    for _ in range(n):
        logits = model(ids[:, -length:])[:, -1]
        ids = torch.cat((ids, sample(logits, temperature, top_k)), dim=1)
    return ids

def train(path="my_text.txt", steps=3500, to="my_gpt.pt", seed=1):
    torch.manual_seed(seed)
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    if len(text) < 1000:
        sys.exit(f"{path}: {len(text)} characters; it takes 1000 to learn.")
    ids = vocabulary(text)
    sizes = len(ids), 64, 2, 128, 4, 512  # 64 positions, 2 blocks, 4 heads
    model, row = DecoderOnly(*sizes), encode(text, ids)[0]
    cut, losses = len(row) * 9 // 10, []  # the last tenth is held out
    starts = torch.arange(cut, len(row) - 64, len(row) // 1000)  # about 100
    test = windows(row, starts, 64)
    for loss in learn(model, row[:cut], steps=int(steps)):
        losses.append(loss)
        if len(losses) % 100 == 0:
            old, new = sum(losses[-100:]) / 100, loss_on(model, test).item()
            print(f"{len(losses)}: loss {old:.2f}, on new text {new:.2f}")
    if to:
        torch.save((sizes, ids, model.state_dict()), to)
    return model, ids

def load(path="my_gpt.pt"):
    sizes, ids, numbers = torch.load(path, weights_only=True)
    model = DecoderOnly(*sizes)
    model.load_state_dict(numbers)
    return model, ids

def write(model, ids, prompt, temperature=0.8, top_k=0):
    heat, start = max(float(temperature), 0.01), encode(prompt or " ", ids)
    rows = generate(model, start, 500, heat, int(top_k))
    return decode(rows[0].tolist(), ids)

def main(*words):
    if words[:1] == ("train",):
        return train(*words[1:])
    model, ids = load() if words else train(__file__, 300, to=None)
    print(write(model, ids, *(words or ["def "])))

if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, UnicodeError) as error:
        sys.exit(f"{error}\n\n{__doc__}")
