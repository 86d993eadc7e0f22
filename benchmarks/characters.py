"""Character models: source 002's, nanoGPT's, the module's and my_gpt.py's."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from runpy import run_path
from time import process_time
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.translators import SEEDS, Results, by_seed, curves_of, learner
from tformer_lite import (
    CharTokenizer,
    Config,
    DecoderOnly,
    Recipe,
    Trainer,
    Windows,
    book_text,
    char_lm,
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
LARGER = {"n_layers": 4, "d_ff": 512, "dropout": 0.0, "bias": False}
SIZES = replace(char_lm, **LARGER, residual="pre", activation="gelu")
TEXT = book_text()
TOKENIZER, SHORT = CharTokenizer(TEXT), CharTokenizer(TEXT[:LENGTH])
SHORT_IDS = SHORT.encode(TEXT[:LENGTH])
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


def source_002(seed: int, patience: int) -> Trainer:
    """Train with source 002's settings, and keep the best weights."""
    data, valid = split_text(SHORT_IDS, BLOCK)
    recipe = with_options(Recipe(steps=1, patience=patience), AS_IN_SOURCE)
    epoch = math.ceil(len(data) / recipe.batch_size)
    recipe = replace(recipe, steps=EPOCHS * epoch, every=epoch, seed=seed)
    config = replace(char_lm, vocab_size=len(SHORT), max_len=POSITIONS)
    return learner(partial(DecoderOnly, config), recipe, data, valid)


def overfitting() -> Results:
    """Train source 002's model on a short text until it knows it by heart."""
    trainers = by_seed(lambda seed: source_002(seed, EPOCHS))
    model = trainers[str(SEEDS[0])].model
    return {
        "seeds": {seed: curves_of(x) for seed, x in trainers.items()},
        "characters": LENGTH,
        "vocab_size": model.config.vocab_size,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def positions() -> Results:
    """Measure the loss of the best such models at each position."""
    models = by_seed(lambda seed: source_002(seed, patience=1).best)
    parts = zip(("train", "valid"), split_text(SHORT_IDS, POSITIONS))
    losses = {
        name: {
            seed: [round(x, 4) for x in by_position(model, data).tolist()]
            for seed, model in models.items()
        }
        for name, data in parts
    }
    return {"block_size": BLOCK} | losses


def by_position(model: DecoderOnly, data: Windows) -> Tensor:
    """Average the loss over the windows, for each position: -> (T)."""
    (x,), y = data[list(range(len(data)))]
    with evaluating(model):
        logits = model(x).transpose(1, 2)
        return cross_entropy(logits, y, reduction="none").mean(0)


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
    options = writer_for(len(TEXT) * 9 // 10, sizes | changes)
    model = DecoderOnly(with_options(config, options))
    return Trainer(model, with_options(recipe, options))


def end_of(make: Callable, seed: int) -> float:
    """Train on nine tenths of the book's text: the last validation loss."""
    ids = TOKENIZER.encode(TEXT)
    cut = len(ids) * 9 // 10
    torch.manual_seed(seed)
    config = replace(SIZES, vocab_size=len(TOKENIZER))
    trainer = make(config, replace(STEPS, seed=seed))
    valid = Windows(ids[cut:], 64)
    valid.windows = valid.windows[::64]  # each label once
    train(trainer, Windows(ids[:cut], 64), valid)
    return round(trainer.val_losses[-1], 4)


def nanogpt(folder: str, size: int, draw: Callable) -> tuple:
    """Give the model of a checkout of nanoGPT, which is not part of this
    project, with its setting for a CPU, and a step in its train.py's order."""
    code = run_path(str(Path(folder, "model.py")))
    sizes = {"n_layer": 4, "n_head": 4, "n_embd": 128, "dropout": 0.0}
    sizes |= {"block_size": 64, "vocab_size": size, "bias": False}
    model = code["GPT"](code["GPTConfig"](**sizes))
    adam = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")

    def step(rate: float = 1e-3) -> None:
        for group in adam.param_groups:
            group["lr"] = rate
        model(*draw())[1].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)

    return model, step


def rivals() -> Results:
    """Train my_gpt.py on Tiny Shakespeare beside nanoGPT's own code, as its
    README does on a CPU: NANOGPT is a checkout, with its data prepared."""
    mine = SimpleNamespace(**run_path("chapters/my_gpt.py"))
    folder, recipe = os.environ["NANOGPT"], replace(STEPS, steps=2000)
    path = f"{folder}/data/shakespeare_char/input.txt"
    ids = mine.vocabulary(text := Path(path).read_text("utf8"))
    row, cut = mine.encode(text, ids)[0], len(text) * 9 // 10
    held_out = mine.windows(row, torch.arange(cut, len(row) - 64, 64), 64)

    def draw() -> list[Tensor]:
        rows = mine.windows(row, torch.randint(cut - 64, (12,)), 64)
        return [x.contiguous() for x in (rows[:, :-1], rows[:, 1:])]

    def theirs(seed: int) -> tuple:
        model, step = nanogpt(folder, len(ids), draw)
        for i in range(1, recipe.steps + 1):
            step(recipe.lr * nano_rate(i, recipe))
        return lambda x: model(x, x.contiguous())[0], ids

    def measured(make: Callable, seed: int) -> list[float]:
        torch.manual_seed(seed)
        start = process_time()
        (model, _), seconds = make(seed=seed), process_time() - start
        with torch.no_grad():
            loss = mine.loss_on(model, held_out).item()
        return [round(loss, 4), round(seconds)]

    ours = partial(mine.train, path, to=None)
    return {
        "my_gpt.py": by_seed(partial(measured, ours), 3),
        "nanoGPT": by_seed(partial(measured, theirs), 3),
        "text": mine.write(*ours(), "\n"),
    }


def characters() -> Results:
    """Train at nanoGPT's size for a CPU: in our way, with one choice of ours
    undone at a time, and in nanoGPT's way."""
    makers = {
        name: partial(ours, **changes) for name, changes in UNDONE.items()
    }
    makers |= {"nanoGPT's": nano}
    return {x: by_seed(partial(end_of, makers[x])) for x in makers}
