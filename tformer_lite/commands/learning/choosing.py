"""What a text asks for: the size of its model, how that learns, and how many
steps there is time for."""

import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from time import perf_counter
from typing import Any

from tformer_lite.commands.learning.start import set_recipe
from tformer_lite.commands.learning.watching import duration
from tformer_lite.commands.session import say
from tformer_lite.training.batches import Data
from tformer_lite.training.loop import train
from tformer_lite.training.stopping import agreed
from tformer_lite.training.trainer import Trainer

TRIAL = 1.0  # seconds of steps, to be timed
WARMUP = 100  # steps, at most
LEARNING = 0.85  # of the time goes to steps; the rest to losses and files
LONG = 50_000  # characters, from which on a text can do with less care
# From so many characters on: channels, dropout, times through them at most.
SIZES = [
    (0, 96, 0.3, 20),
    (10_000, 96, 0.2, 30),
    (LONG, 128, 0.1, 20),
    (10 * LONG, 128, 0.0, 10),
]
# What all of them have in common, but for those of source 002.
ALWAYS: dict[str, Any] = {
    "num_layers": 3,
    "norm": "rms",
    "activation": "gelu",
    "embedding": "plain",
    "weight_decay": 0.1,
    "patience": 4,
}


def writer_for(length: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose options of `train char` for a text, around those `given`.

    `length` is the number of characters to train on. The longer the text,
    the larger the model that does not learn it by heart.
    """
    said = {name: x for name, x in given.items() if x is not None}
    _, width, dropout, _ = size_for(length)
    width = said.get("d_model", width)
    rows = said.get("block_size", 64 if length >= 5000 else 32)
    positions = said.get("positions", "rotary")
    choice = {
        "num_heads": heads_for(width),
        "d_model": width,
        "d_ff": 4 * width,
        "dropout": dropout,
        "attention": "split" if positions == "rotary" else "fused",
        "positions": positions,
        "block_size": rows,
        "max_seq_len": rows,
        "batch_size": 12 if length >= LONG else 8,
        "lr": 5e-3 if length >= LONG else 4e-3,
    }
    always = {} if given.get("as_in_source") else ALWAYS
    return always | choice | said


def size_for(length: int) -> tuple[int, int, float, int]:
    """Find the row of `SIZES` for a text."""
    return max(row for row in SIZES if row[0] <= length)


def heads_for(width: int) -> int:
    """Give heads of 32 channels, or as near as all can be equal and even."""
    whole = [n for n in range(1, width + 1) if width % (2 * n) == 0]
    return min(whole or [1], key=lambda n: abs(width / n - 32))


def choose_steps(trainer: Trainer, given: dict, data: Data) -> float | None:
    """Put into the options `given` as many steps as their minutes allow, and
    say how many minutes they take; None where steps or epochs are given."""
    set_recipe(trainer, given, len(data))
    minutes = given.get("minutes")
    if minutes is not None:
        seconds = seconds_a_step(trainer, data) / LEARNING
        steps, most = int(60 * minutes / seconds), most_steps(trainer, data)
        if steps > most:
            steps = most
            say("The text is short: more steps would learn it by heart.")
        given["steps"], given["minutes"] = trainer.step + max(steps, 1), None
        minutes = steps * seconds / 60
        set_recipe(trainer, given, len(data))
    if not trainer.step and given.get("warmup") is None:
        warmup = min(WARMUP, trainer.recipe.steps // 10)
        trainer.recipe = replace(trainer.recipe, warmup=warmup)
    return minutes


def most_steps(trainer: Trainer, data: Data) -> int:
    """Count the steps that a text is good for; one can go on all the same."""
    if trainer.step:
        return sys.maxsize
    tokens = trainer.recipe.batch_size * data[[0]][1].numel()
    return size_for(len(data))[-1] * len(data) // tokens


def seconds_a_step(trainer: Trainer, data: Data) -> float:
    """Time steps of a copy: the trainer itself stays as it is."""
    steps, seconds = 1, 0.0
    while seconds < TRIAL:
        steps *= 2
        recipe = replace(trainer.recipe, steps=steps, patience=None)
        trial = Trainer(deepcopy(trainer.model), recipe)
        start = perf_counter()
        train(trial, data)
        (most,) = agreed(round(1e6 * (perf_counter() - start)))
        seconds = most / 1e6
    return seconds / steps


def description(trainer: Trainer, minutes: float | None) -> str:
    """Say which model is trained, how long, and how to do the same again."""
    config: Any = trainer.model.config
    counts = {
        "layer": config.n_layers,
        "head": config.n_heads,
        "channel": config.d_model,
        "row": trainer.recipe.batch_size,
        "step": trainer.steps_left(),
    }
    layers, heads, channels, rows, steps = (
        f"{n:,} {name}" + "s" * (n != 1) for name, n in counts.items()
    )
    model = f"{layers}, {heads}, {channels}"
    model += f", rows of {trainer.block_size} characters"
    if minutes is None:
        return f"{model}; {steps} of {rows}"
    again = f" (--steps {trainer.recipe.steps} gives the same again)"
    time = duration(60 * minutes) + again * (not trainer.step)
    return f"{model}; {steps} of {rows} in about {time}"
