"""What a step of training costs, a translation, and writing with a cache."""

import math
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.characters import SIZES, STEPS, nano, nanogpt, ours
from benchmarks.rounds import row, rows_in_turns, seconds_of, spread
from benchmarks.translators import RECIPE, SEEDS, part, shares_right
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    MultiHeadAttention,
    Recipe,
    Trainer,
    char_lm,
    generate,
    join_heads,
    softmax,
    tiny_translator,
    train,
)

V, B, T = 89, 12, 64  # the book's characters; nanoGPT's batch, on a CPU
CHARACTERS = replace(SIZES, vocab_size=V)


class OneCall(MultiHeadAttention):
    """Causal self-attention whose arithmetic is one call of PyTorch's."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(join_heads(heads))


class FilledIn(MultiHeadAttention):
    """Self-attention that fills −∞ in where the mask hides a score, instead
    of adding it."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        any_key = mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~mask & any_key, -math.inf)
        weights = torch.softmax(scores, dim=-1) * any_key
        return self.output(join_heads(weights @ v))


class WrittenOut(MultiHeadAttention):
    """Self-attention with the softmax that chapter 8 derives."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Let x attend to itself: (B, T, C) -> (B, T, C)."""
        q, k, v = self.project(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = scores + torch.where(mask, 0.0, -math.inf)
        return self.output(join_heads(softmax(scores) @ v))


def learning_rows(trainers: dict[str, Trainer], b: int = B, t: int = T):
    """Let character models take turns with steps of training, each from
    batch to update."""
    x, y = torch.randint(V, (2, b, t))
    with torch.enable_grad():
        return rows_in_turns({
            name: partial(trainer.learn, ((x,), y), -100)
            for name, trainer in trainers.items()
        })  # fmt: skip


def attention_rows() -> list[dict]:
    """Let the character model learn with several attentions."""
    kinds = {
        "one call of PyTorch's": OneCall,
        "ours: step by step": "split",
        "the same, hidden scores filled in": FilledIn,
        "the same, softmax written out": WrittenOut,
    }
    return learning_rows({
        name: nano(replace(CHARACTERS, attention=kind), STEPS)
        for name, kind in kinds.items()
    })  # fmt: skip


def recipe_rows() -> list[dict]:
    """Let the character model learn in nanoGPT's way, and in ours."""
    return learning_rows(
        {
            "the book's code, nanoGPT's recipe": nano(CHARACTERS, STEPS),
            "ours: rotary positions, dropout": ours(CHARACTERS, STEPS),
        }
    )


def small_rows() -> list[dict]:
    """Let the small model of chapter 17's page by heart learn."""
    sizes = {"d_model": 64, "d_ff": 128, "dropout": 0.0}
    model = DecoderOnly(replace(char_lm, vocab_size=V, **sizes))
    return learning_rows(
        {"ours: a step": Trainer(model, Recipe(steps=250))}, 16, 32
    )


def nanogpt_rows(folder: str) -> list[dict]:
    """Let the model and the optimizer of a checkout of nanoGPT, which is not
    part of this project, take turns with ours, which do the same."""
    (x,), y = batch = torch.randint(V, (1, B, T)), torch.randint(V, (B, T))
    trainer = nano(CHARACTERS, STEPS)
    runs = {
        "nanoGPT's own code": nanogpt(folder, V, lambda: (x, y))[1],
        "ours: the same, step by step": partial(trainer.learn, batch, -100),
    }
    with torch.enable_grad():
        return rows_in_turns(runs)


def translator_rows() -> list[dict]:
    """Train the translator from several seeds."""
    recipes = [replace(RECIPE, seed=seed) for seed in SEEDS[:4]]
    seconds, exact = zip(*map(seconds_and_share, recipes))
    trained = row("ours: chapter 13's recipe", seconds, seconds)
    return [trained | {"exact": spread(exact)}]


def seconds_and_share(recipe: Recipe) -> tuple[float, float]:
    """Train a translator: its seconds, and its share of translations of the
    test part that are right to the letter."""
    torch.manual_seed(recipe.seed)
    trainer = Trainer(EncoderDecoder(tiny_translator), recipe)
    with torch.enable_grad():
        seconds = seconds_of(partial(train, trainer, part("train")))
    return seconds, shares_right(trainer.model)["exact_match"]


# --- writing ---------------------------------------------------------------


def write_without(model: DecoderOnly, ids: Tensor, n: int) -> Tensor:
    """Write n tokens, reading all again for each."""
    for _ in range(n):
        best = model(ids)[:, -1].argmax(-1)
        ids = torch.cat((ids, best[:, None]), dim=1)
    return ids


def writing_rows(tokens: str) -> list[dict]:
    """Write so many tokens after a single one with a cache, and in two ways
    without: with the model's own attention, and with one call of PyTorch's,
    as attention with a cache is. What that saves is not the cache's merit."""
    torch.manual_seed(0)
    sizes, n = replace(CHARACTERS, vocab_size=65, max_len=520), int(tokens)
    model = DecoderOnly(sizes).eval()
    one_call = DecoderOnly(replace(sizes, attention=OneCall)).eval()
    one_call.load_state_dict(model.state_dict())
    ids = torch.zeros(1, 1, dtype=torch.long)
    runs = {
        "ours: with a cache": partial(generate, model, ids, n),
        "the same, reading all again": partial(write_without, model, ids, n),
        "the same, in one call": partial(write_without, one_call, ids, n),
    }
    texts = [run() for run in runs.values()]
    assert all(text.equal(texts[0]) for text in texts)
    return rows_in_turns(runs)
