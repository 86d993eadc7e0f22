"""Options of a training: source 002's, and those that suit a file."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import ceil
from typing import Any

from tformer_lite.training.checkpoints import SOURCE_NAMES
from tformer_lite.training.recipe import Recipe

Options = dict[str, Any]
# Source 002's: Adam, which clips nothing.
AS_IN_SOURCE: Options = {
    "block_size": 32,
    "max_seq_len": 64,
    "batch_size": 32,
    "epochs": 50,
    "lr": 3e-4,
    "warmup": 0,
    "schedule": "constant",
    "betas": (0.9, 0.999),
    "clip": float("inf"),
}
# From so many characters on: channels, dropout, times through them.
TEXT_SIZES = [
    (0, 96, 0.3, 20),
    (10_000, 96, 0.2, 30),
    (50_000, 128, 0.1, 20),
    (500_000, 128, 0.0, 10),
]
MOST_STEPS, NOTES, WARMUP = 3000, 10, 100


def writer_for(length: int, typed: Mapping[str, Any]) -> Options:
    """Choose options of `train char` for a text, around those `typed`.

    `length` is the number of characters to train on. The longer the text,
    the larger the model that does not learn it by heart.
    """
    _, width, dropout, _ = size_for(length)
    width, long = typed.get("d_model", width), length >= 50_000
    rows = typed.get("block_size", 64 if length >= 5000 else 32)
    positions = typed.get("positions", "rotary")
    return {
        "num_layers": 3,
        "norm": "rms",
        "activation": "gelu",
        "embedding": "plain",
        "weight_decay": 0.1,
        "patience": 4,
        "num_heads": max(width // 32, 1),
        "d_model": width,
        "d_ff": 4 * width,
        "dropout": dropout,
        "attention": "split" if positions == "rotary" else "fused",
        "positions": positions,
        "block_size": rows,
        "max_seq_len": rows,
        "batch_size": 12 if long else 8,
        "lr": 5e-3 if long else 4e-3,
    } | dict(typed)


def size_for(length: int) -> tuple[int, int, float, int]:
    """Find the row of `TEXT_SIZES` for a text."""
    return max(row for row in TEXT_SIZES if row[0] <= length)


def with_options(settings: Any, options: Mapping[str, Any]) -> Any:
    """Change a config, or a recipe, as those of the options say that it has:
    they have its names, or source 002's."""
    names = {field.name for field in fields(settings)}
    named = {SOURCE_NAMES.get(name, name): x for name, x in options.items()}
    return replace(settings, **{n: x for n, x in named.items() if n in names})


def recipe_for(options: Options, size: int, rows: int) -> Recipe:
    """Choose the steps for data of a size: those typed, or some epochs, or so
    many rows, but not too many; and notes and a warm-up that suit them."""
    epoch = ceil(size / options["batch_size"])
    steps = min(rows // options["batch_size"] + 1, MOST_STEPS)
    steps = options.get("steps") or options.get("epochs", 0) * epoch or steps
    every = epoch if "epochs" in options else ceil(steps / NOTES)
    suited = {"every": every, "warmup": min(steps // 10, WARMUP)}
    return with_options(Recipe(steps=steps), suited | options)
