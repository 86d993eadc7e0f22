"""What training costs: against PyTorch's own layers, and to a translation.

python -m benchmarks.training                 # about five minutes

Two models take turns at a step of training, on one thread, and each round
gives a ratio of CPU times. Printed are the median of the rounds and, in
brackets, the quartiles. Then the translator of the book is trained from
four seeds: seconds of CPU time, and the share of the test part that it
translates as wanted.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from benchmarks.alone import alone
from benchmarks.characters import SIZES
from benchmarks.rounds import in_turns, spread
from benchmarks.translators import RECIPE, SEEDS, new_model, part, scores
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    MultiHeadAttention,
    Trainer,
    join_heads,
    paper_base,
    split_heads,
    tiny_translator,
    train,
)

characters = replace(SIZES, vocab_size=89)
B, T = 12, 64  # nanoGPT's, on a CPU
LONG = 2, 64  # sentence pairs for the paper's base model, and their length


class OneCall(MultiHeadAttention):
    """Self-attention whose arithmetic is one call of PyTorch's."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        projections = self.query, self.key, self.value
        q, k, v = (split_heads(p(x), self.n_heads) for p in projections)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(join_heads(heads))


class Torch(nn.Module):
    """PyTorch's encoder and decoder, between embeddings and a head: the
    paper's base model, as `paper_base` is."""

    def __init__(self):
        super().__init__()
        model = EncoderDecoder(paper_base)
        self.src, self.tgt = model.src_embedding, model.tgt_embedding
        self.head = model.head
        self.both = nn.Transformer(batch_first=True)
        self.both.encoder.norm = self.both.decoder.norm = None

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of tgt: (B, S), (B, T) -> (B, T, V)."""
        hidden, length = src == paper_base.pad, tgt.shape[1]
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        states = self.both(
            self.src(src),
            self.tgt(tgt),
            tgt_mask=future,
            src_key_padding_mask=hidden,
            tgt_key_padding_mask=tgt == paper_base.pad,
            memory_key_padding_mask=hidden,
        )
        return self.head(states)


def step_of(model: nn.Module, inputs: tuple, optimizer=None) -> Callable:
    """Give a step: forward, backward and, with an optimizer, its update."""
    labels = torch.randint(2, 80, inputs[-1].shape)

    def step():
        model.zero_grad()
        logits = model(*inputs).flatten(0, 1)
        cross_entropy(logits, labels.flatten()).backward()
        if optimizer:
            optimizer.step()

    return step


def learner(attention: str | type) -> Callable:
    """Give a step of the character model with an attention."""
    model = DecoderOnly(replace(characters, attention=attention))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    return step_of(model, (torch.randint(89, (B, T)),), optimizer)


def attention_cells() -> list[str]:
    """Write tokens a second with one call and with the book's attention,
    and how many times as many the book's has."""
    rounds = seconds_in_turns(learner(OneCall), learner("split"))
    speeds = [[B * T / s for s in seconds] for seconds in zip(*rounds)]
    ratios = [theirs / mine for theirs, mine in rounds]
    return [*(spread(speed, 0) for speed in speeds), spread(ratios)]


def base_cells(norm: str) -> list[str]:
    """Write milliseconds of PyTorch's base model and of the book's, and how
    many times as long the book's takes."""
    ids = torch.randint(2, 100, LONG), torch.randint(2, 100, LONG)
    models = Torch(), EncoderDecoder(replace(paper_base, norm=norm))
    rounds = seconds_in_turns(
        *(step_of(model.train(), ids) for model in models)
    )
    times = [[1000 * s for s in seconds] for seconds in zip(*rounds)]
    ratios = [mine / theirs for theirs, mine in rounds]
    return [*(spread(column, 0) for column in times), spread(ratios)]


def seconds_in_turns(theirs: Callable, mine: Callable) -> list[list[float]]:
    """Let two steps take turns: their seconds of CPU time."""
    with torch.enable_grad():
        return in_turns(theirs, mine, budget=60, clock=time.process_time)


def translator_cells(seed: int) -> list[str]:
    """Train the translator: seconds of CPU time, and exact match."""
    recipe = replace(RECIPE, seed=seed)
    trainer = Trainer(new_model(tiny_translator, seed), recipe)
    start = time.process_time()
    with torch.enable_grad():
        train(trainer, part("train"))
    seconds = time.process_time() - start
    return [f"{seconds:.1f}", f"{scores(trainer.model)['exact_match']:.1%}"]


def table(*columns: str) -> Callable:
    """Print the titles of a table, and give what prints a row."""

    def row(*cells: str) -> None:
        print(*(f"{cell:24}" for cell in cells), flush=True)

    print()
    row(*columns)
    return row


def main() -> None:
    """Print the three tables, a row as soon as it is known."""
    print(f"torch {torch.__version__}, one thread, CPU time")
    row = table("character model", "tokens/s, one call", "explicit", "ratio")
    row("attention", *alone("benchmarks.training:attention_cells"))
    row = table("paper_base", "ms, nn.Transformer", "here", "ratio")
    for norm in ("layer", "written"):
        row(f"norm {norm}", *alone("benchmarks.training:base_cells", norm))
    row = table("translator, seed", "seconds", "exact match")
    for seed in SEEDS:
        row(str(seed), *alone("benchmarks.training:translator_cells", seed))


if __name__ == "__main__":
    main()
