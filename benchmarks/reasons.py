"""Why a Transformer is as it is: what comes of it with less of something.

Everything is done from several seeds: a training from one says little.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from benchmarks.translators import (
    FIVE,
    RECIPE,
    figures,
    new_model,
    trainer_after,
)
from tformer_lite import (
    Checkpoint,
    Config,
    DecoderOnly,
    Recipe,
    Trainer,
    save_checkpoint,
    tiny_translator,
    train,
)
from tformer_lite.example.shipped import STORED_FILES
from tformer_lite.model.modes import evaluating
from tformer_lite.training.batches import Data

# A third of the translator's training: enough to tell better from worse.
THIRD = replace(RECIPE, steps=430)
WORDS, LISTED = 16, 15  # different tokens, and how many of them are listed
READER = Config(
    vocab_size=WORDS,
    max_len=LISTED + 1,
    d_model=32,
    n_heads=4,
    d_ff=64,
    n_layers=1,
    dropout=0.0,
    positions="learned",
)
READING = Recipe(
    steps=800, batch_size=128, lr=3e-3, warmup=50, schedule="wsd", every=20
)
# What came after 2017, one change at a time; a gate's third matrix is paid
# for with two thirds of the width.
VARIANTS: dict[str, dict] = {
    "2017": {},
    "post-norm": {"residual": "post"},
    "sinusoids": {"positions": "sinusoidal"},
    "rotary": {"positions": "rotary"},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"feed_forward": "gated", "activation": "silu", "d_ff": 32},
    "multi-query": {"n_kv_heads": 1},
    "window": {"window": 4},
    "experts": {"feed_forward": "mixture"},
    "tiles": {"attention": "tiled"},
}


class Asked:
    """Rows of ids, and what a model shall answer: data[rows] is ((x,), y).

    x is (N, T). y is (N, T) too, and `ignore` where nothing is asked; or it
    is as long as a model's answers are.
    """

    ignore = -100

    def __init__(self, x: Tensor, y: Tensor):
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: list[int]) -> tuple[tuple[Tensor], Tensor]:
        return (self.x[rows],), self.y[rows]


def last_alone(x: Tensor, answer: Tensor) -> Tensor:
    """Label the last position of each row: (N, T), (N, 1) -> (N, T)."""
    y = torch.full_like(x, Asked.ignore)
    y[:, -1:] = answer
    return y


class Lookups(Asked):
    """Lists to look up in: `listed` of `words` tokens, one of them again, and
    the label of that last position: what followed it the first time."""

    def __init__(
        self, count: int, seed: int, listed: int = LISTED, words: int = WORDS
    ):
        draw = torch.Generator().manual_seed(seed)
        order = torch.rand(count, words, generator=draw).argsort(1)
        asked = torch.randint(listed - 1, (count, 1), generator=draw)
        order = order[:, :listed]
        x = torch.cat((order, order.gather(1, asked)), 1)
        super().__init__(x, last_alone(x, order.gather(1, asked + 1)))


def found(model: nn.Module, data: Asked) -> float:
    """The share of rows in which a model answers all that is asked."""
    with evaluating(model):
        right = model(data.x).argmax(-1) == data.y
    right |= data.y == data.ignore
    return right.all(1).double().mean().item()


def learner(
    build: Callable[[], nn.Module],
    recipe: Recipe,
    data: Data,
    others: Data | None = None,
) -> Trainer:
    """Build a model from a recipe's seed, and train it to answer."""
    torch.manual_seed(recipe.seed)
    trainer = Trainer(build(), recipe)
    train(trainer, data, others)
    return trainer


def reading(config: Config, seed: int, others: Lookups) -> Trainer:
    """Train a model to look things up, from a seed."""
    build, recipe = partial(DecoderOnly, config), replace(READING, seed=seed)
    return learner(build, recipe, Lookups(40_000, seed=0), others)


def keep_lookup() -> None:
    """Train what ships: narrow, with one head in each of two blocks, which is
    easy to look into; in half precision, so that the file is small."""
    config = replace(READER, n_layers=2, n_heads=1, d_model=24, d_ff=32)
    trainer = reading(config, FIVE[0], Lookups(1_000, seed=1))
    model = cast(DecoderOnly, trainer.model).half()
    save_checkpoint(Checkpoint(model), STORED_FILES / "lookup.pt")


def blocks() -> dict:
    """Look something up in two steps, with one, two and three blocks."""
    others, results = Lookups(1_000, seed=1), dict[str, dict]()
    for n_layers in 1, 2, 3:
        config, shares = replace(READER, n_layers=n_layers), {}
        for seed in FIVE:
            trainer = reading(config, seed, others)
            shares[str(seed)] = round(found(trainer.model, others), 4)
        print(f"  {n_layers} blocks:", shares, flush=True)
        results[str(n_layers)] = {
            "seeds": shares,
            "val_losses": [round(loss, 4) for loss in trainer.val_losses],
        }
    keep_lookup()
    return results | {"every": READING.every}


def trained(choices: dict, recipe: Recipe = THIRD) -> dict:
    """Train the translator with some choices from five seeds."""
    config, results = replace(tiny_translator, **choices), {}
    for seed in FIVE:
        model = new_model(config, seed)
        trainer_after(model, replace(recipe, seed=seed))
        results[str(seed)] = figures(model)["exact_match"]
    return results


def hidden() -> dict:
    """Train the translator with feed-forward layers of several widths."""
    widths = 1, 6, 12, 24, 48, 96
    return {str(width): trained({"d_ff": width}) for width in widths}


def variants() -> dict:
    """Train the translator with what came after 2017, part by part."""
    return {
        name: trained(choices, RECIPE) for name, choices in VARIANTS.items()
    }
