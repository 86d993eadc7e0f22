"""Character models that learn the book's text: source 002's, and nanoGPT's."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.translators import FIVE, curves_of
from tformer_lite import (
    CharTokenizer,
    Config,
    DecoderOnly,
    Recipe,
    Sampler,
    Trainer,
    Windows,
    book_text,
    char_lm,
    generate,
    split_text,
    train,
)
from tformer_lite.model.modes import evaluating
from tformer_lite.training.options import (
    AS_IN_SOURCE,
    with_options,
    writer_for,
)
from tformer_lite.training.recipe import cosine

LENGTH = 6000  # characters of the book: source 002's text is short, too
BLOCK, POSITIONS = AS_IN_SOURCE["block_size"], AS_IN_SOURCE["max_seq_len"]
EPOCHS = 20  # source 002 has 50
# nanoGPT's, for a computer without a GPU, as documented in its README and in
# config/train_shakespeare_char.py; the vocabulary depends on the text.
SIZES = Config(
    vocab_size=1,
    max_len=64,
    d_model=128,
    n_heads=4,
    n_layers=4,
    d_ff=512,
    dropout=0.0,
    bias=False,
    positions="learned",
    activation="gelu",
)
TOKENIZER = CharTokenizer(book_text())
# A third of nanoGPT's steps: enough to tell better from worse.
STEPS = Recipe(steps=700, batch_size=12, lr=1e-3, warmup=100, every=100)


# What nanoGPT does, put into our training one at a time.
UNDONE: dict[str, dict] = {
    "ours": {},
    "learning rate": {"lr": STEPS.lr},
    "no dropout": {"dropout": 0.0},
    "learned positions": {"positions": "learned"},
    "LayerNorm": {"norm": "layer"},
}


def source_002(
    seed: int, patience: int
) -> tuple[Trainer, tuple[Windows, Windows]]:
    """Train with source 002's settings, and keep the best weights."""
    text = book_text()[:LENGTH]
    tokenizer = CharTokenizer(text)
    data, valid = split_text(tokenizer.encode(text), BLOCK)
    recipe = with_options(Recipe(steps=1, patience=patience), AS_IN_SOURCE)
    epoch = math.ceil(len(data) / recipe.batch_size)
    recipe = replace(recipe, steps=EPOCHS * epoch, every=epoch, seed=seed)
    torch.manual_seed(seed)
    config = replace(char_lm, vocab_size=len(tokenizer), max_len=POSITIONS)
    trainer = Trainer(DecoderOnly(config), recipe, (tokenizer,), BLOCK)
    train(trainer, data, valid)
    return trainer, split_text(tokenizer.encode(text), POSITIONS)


def overfitting() -> dict:
    """Train source 002's model on a short text until it knows it by heart."""
    seeds = {}
    for seed in FIVE:
        trainer, _ = source_002(seed, EPOCHS)
        seeds[str(seed)] = curves_of(trainer)
        print(f"  seed {seed}:", seeds[str(seed)]["val_losses"], flush=True)
    return {
        "seeds": seeds,
        "characters": LENGTH,
        "vocab_size": trainer.model.config.vocab_size,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
    }


def positions() -> dict:
    """Measure the loss of the best such models at each position."""
    found: dict = {"block_size": BLOCK, "train": {}, "valid": {}}
    for seed in FIVE:
        trainer, parts = source_002(seed, patience=1)
        for name, data in zip(("train", "valid"), parts, strict=True):
            losses = by_position(trainer.best, data).tolist()
            found[name][str(seed)] = [round(loss, 4) for loss in losses]
    return found


def by_position(model: DecoderOnly, data: Windows) -> Tensor:
    """Average the loss over the windows, for each position: -> (T)."""
    (x,), y = data[list(range(len(data)))]
    with evaluating(model):
        logits = model(x).transpose(1, 2)
        return cross_entropy(logits, y, reduction="none").mean(0)


class Pieces(Windows):
    """Windows that do not overlap: each label once."""

    def __init__(self, ids: Tensor, size: int):
        super().__init__(ids, size)
        self.windows = self.windows[::size]


def nano_rate(step: int, recipe: Recipe) -> float:
    """Let the learning rate end at a tenth, as nanoGPT does."""
    if step <= recipe.warmup:
        return step / recipe.warmup
    return 0.1 + 0.9 * cosine(step, recipe)


def start_small(model: DecoderOnly) -> None:
    """Start as nanoGPT does: small numbers, and one table for the way in and
    the way out."""
    model.head.weight = model.embedding.tokens.weight
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            last = name.endswith("output.weight")
            depth = 2 * model.config.n_layers if last else 1
            nn.init.normal_(weight, std=0.02 * depth**-0.5)


def nano(config: Config, recipe: Recipe) -> Trainer:
    """Build and start a model as nanoGPT does: no decay for the norms."""
    norm = partial(nn.LayerNorm, bias=False)
    model = DecoderOnly(replace(config, norm=norm, embedding="plain"))
    start_small(model)
    trainer = Trainer(model, replace(recipe, schedule=nano_rate))
    weights = [p for p in model.parameters() if p.ndim == 2]
    gains = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": weights, "weight_decay": 0.1},
        {"params": gains, "weight_decay": 0.0},
    ]
    adam = partial(torch.optim.AdamW, betas=(0.9, 0.99), fused=True)
    trainer.optimizer = adam(groups)
    return trainer


def ours(config: Config, recipe: Recipe, **changes) -> Trainer:
    """Build and start a model as `train char` does for the book's text, but
    with the size and the batches of another, and some options with_options."""
    sizes = {
        "num_layers": config.n_layers,
        "d_model": config.d_model,
        "block_size": config.max_len,
        "batch_size": recipe.batch_size,
    }
    options = writer_for(len(book_text()) * 9 // 10, sizes | changes)
    model = DecoderOnly(with_options(config, options))
    return Trainer(model, with_options(recipe, options))


def ours_started_small(config: Config, recipe: Recipe) -> Trainer:
    """Build ours, and start it as nanoGPT's."""
    trainer = ours(config, recipe)
    start_small(trainer.model)
    return Trainer(trainer.model, trainer.recipe)


def taught(make: Callable, seed: int) -> Trainer:
    """Train on nine tenths of the book's text, from a seed."""
    ids = TOKENIZER.encode(book_text())
    cut = len(ids) * 9 // 10
    data, valid = Windows(ids[:cut], 64), Pieces(ids[cut:], 64)
    torch.manual_seed(seed)
    config = replace(SIZES, vocab_size=len(TOKENIZER))
    trainer = make(config, replace(STEPS, seed=seed))
    train(trainer, data, valid)
    return trainer


def written_by(make: Callable) -> dict:
    """Train from five seeds: the validation losses in the end."""
    found = {
        str(seed): round(taught(make, seed).val_losses[-1], 4) for seed in FIVE
    }
    print(" ", found, flush=True)
    return found


def samples() -> dict:
    """What two models of those write after a few words, drawn by chance."""
    found = {}
    for name, make in {"ours": ours, "nanoGPT's": nano}.items():
        model = taught(make, FIVE[0]).model
        draw = Sampler(0.8, generator=torch.Generator().manual_seed(FIVE[0]))
        ids = generate(model, TOKENIZER.encode("A model ")[None], 200, draw)
        found[name] = TOKENIZER.decode(ids[0])
    return found


def characters() -> dict:
    """Train at nanoGPT's size for a CPU: in our way, with one choice of ours
    undone at a time, and in nanoGPT's way."""
    makers = {
        name: partial(ours, **changes) for name, changes in UNDONE.items()
    }
    makers |= {"small start, one table": ours_started_small, "nanoGPT's": nano}
    return {name: written_by(make) for name, make in makers.items()}
