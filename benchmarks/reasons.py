"""Why a Transformer is as it is: what comes of it with less of something."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.translators import (
    RECIPE,
    SEEDS,
    Results,
    by_seed,
    learner,
    scores_of,
)
from tformer_lite import (
    Checkpoint,
    Config,
    DecoderOnly,
    Recipe,
    Trainer,
    save_checkpoint,
    tiny_translator,
)
from tformer_lite.example.shipped import STORED_FILES
from tformer_lite.model.modes import evaluating

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


class Lookups:
    """Lists to look up in, as rows of ids: data[rows] is ((x,), y), both
    (N, T). A row has `listed` of `words` tokens, then one of them again. That
    last position has a label: what followed it the first time."""

    ignore = -100

    def __init__(
        self, count: int, seed: int, listed: int = LISTED, words: int = WORDS
    ):
        draw = torch.Generator().manual_seed(seed)
        order = torch.rand(count, words, generator=draw).argsort(1)
        asked = torch.randint(listed - 1, (count, 1), generator=draw)
        order = order[:, :listed]
        self.x = torch.cat((order, order.gather(1, asked)), 1)
        self.y = torch.full_like(self.x, self.ignore)
        self.y[:, -1:] = order.gather(1, asked + 1)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: list[int]) -> tuple[tuple[Tensor], Tensor]:
        return (self.x[rows],), self.y[rows]


def share_answered(model: nn.Module, data: Lookups) -> float:
    """The share of rows in which a model answers all that is asked."""
    with evaluating(model):
        right = model(data.x).argmax(-1) == data.y
    right |= data.y == data.ignore
    return round(right.all(1).double().mean().item(), 4)


def reading(config: Config, seed: int) -> Trainer:
    """Train a model to look things up, from a seed."""
    recipe = replace(READING, seed=seed)
    data = Lookups(40_000, seed=0), Lookups(1_000, seed=1)
    return learner(partial(DecoderOnly, config), recipe, *data)


def keep_lookup() -> None:
    """Train what ships: narrow, with one head in each of two blocks, which is
    easy to look into; in half precision, so that the file is small."""
    config = replace(READER, n_layers=2, n_heads=1, d_model=24, d_ff=32)
    model = reading(config, SEEDS[0]).model.half()
    save_checkpoint(Checkpoint(model), STORED_FILES / "lookup.pt")


def blocks() -> dict:
    """Look something up in two steps, with one, two and three blocks."""
    others, results = Lookups(1_000, seed=1), dict[str, dict]()
    for n_layers in 1, 2, 3:
        print(f"  {n_layers} blocks", flush=True)
        trainers = by_seed(
            partial(reading, replace(READER, n_layers=n_layers))
        )
        *_, last = trainers.values()
        results[str(n_layers)] = {
            "seeds": {
                seed: share_answered(trainer.model, others)
                for seed, trainer in trainers.items()
            },
            "val_losses": [round(loss, 4) for loss in last.val_losses],
        }
    keep_lookup()
    return results | {"every": READING.every}


def shares_with(choices: dict) -> Results:
    """Train the translator with some choices: the share of test sentences
    that come out right from each seed."""
    config = replace(tiny_translator, **choices)
    runs = by_seed(partial(scores_of, config, RECIPE))
    return {seed: run["exact_match"] for seed, run in runs.items()}


def variants() -> dict:
    """Train the translator with what came after 2017, part by part."""
    return {name: shares_with(choices) for name, choices in VARIANTS.items()}
