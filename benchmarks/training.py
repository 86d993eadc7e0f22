"""What a step of training costs, and what a translation costs.

NANOGPT, in the environment, is the folder of a checkout of nanoGPT: its code
is not part of this project.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from runpy import run_path

import torch
from torch import nn

from benchmarks.attentions import FilledIn, OneCall, WrittenOut
from benchmarks.characters import SIZES, STEPS, nano, ours
from benchmarks.rounds import TRYING, row, rows_in_turns, seconds_of, spread
from benchmarks.translators import (
    RECIPE,
    SEEDS,
    UNDECAYED,
    new_model,
    part,
    scores,
)
from tformer_lite import (
    DecoderOnly,
    Recipe,
    Trainer,
    char_lm,
    tiny_translator,
    train,
)

V, B, T = 89, 12, 64  # the book's characters; nanoGPT's batch, on a CPU
CHARACTERS = replace(SIZES, vocab_size=V)
RECIPES = {
    "ours: chapter 13's recipe": RECIPE,
    "ours: without weight decay": UNDECAYED,
}


def learner(trainer: Trainer, b: int = B, t: int = T) -> Callable:
    """Give a step of a character model's training, from batch to update."""
    x, y = torch.randint(V, (2, b, t))
    return partial(trainer.learn, ((x,), y), -100)


def attention_rows() -> list[dict]:
    """Let the character model learn with several attentions."""
    kinds = {
        "one call of PyTorch's": OneCall,
        "ours: step by step": "split",
        "the same, hidden scores filled in": FilledIn,
        "the same, softmax written out": WrittenOut,
    }
    trainers = {
        name: nano(replace(CHARACTERS, attention=kind), STEPS)
        for name, kind in kinds.items()
    }
    with torch.enable_grad():
        return rows_in_turns({n: learner(t) for n, t in trainers.items()})


def recipe_rows() -> list[dict]:
    """Let the character model learn in nanoGPT's way, and in ours."""
    makers = {
        "the book's code, nanoGPT's recipe": nano,
        "ours: rotary positions, dropout": ours,
    }
    runs = {n: learner(make(CHARACTERS, STEPS)) for n, make in makers.items()}
    with torch.enable_grad():
        return rows_in_turns(runs)


def nanogpt_rows() -> list[dict]:
    """Let nanoGPT's own model and optimizer take turns with ours, which do
    the same; without a checkout of it, say so."""
    name, folder = "nanoGPT's own code", os.environ.get("NANOGPT")
    if not folder:
        why = "left out: NANOGPT=folder make bench measures a checkout of it"
        return [{"name": name, "problem": why}]
    runs = {
        name: nanogpt_step(run_path(str(Path(folder, "model.py")))),
        "ours: the same, step by step": learner(nano(CHARACTERS, STEPS)),
    }
    with torch.enable_grad():
        return rows_in_turns(runs)


def nanogpt_step(code: dict) -> Callable:
    """Give a step of nanoGPT's training, with the classes of its model.py:
    its setting for a CPU, and the order of calls of its train.py."""
    sizes = {"n_layer": 4, "n_head": 4, "n_embd": 128, "dropout": 0.0}
    sizes |= {"block_size": T, "vocab_size": V, "bias": False}
    model = code["GPT"](code["GPTConfig"](**sizes))
    adam = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    x, y = torch.randint(V, (2, B, T))

    def step() -> None:
        model(x, y)[1].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)

    return step


def small_rows() -> list[dict]:
    """Let the small model of chapter 17's page by heart learn."""
    sizes = {"d_model": 64, "d_ff": 128, "dropout": 0.0}
    model = DecoderOnly(replace(char_lm, vocab_size=V, **sizes))
    step = learner(Trainer(model, Recipe(steps=250)), 16, 32)
    with torch.enable_grad():
        return rows_in_turns({"ours: a step": step})


def translator_rows() -> list[dict]:
    """Train the translator with each recipe, from several seeds in turn."""
    seeds = SEEDS[: 2 if TRYING else 4]
    rounds = [[trained(r, seed) for r in RECIPES.values()] for seed in seeds]
    firsts = [results[0][0] for results in rounds]
    rows = []
    for name, results in zip(RECIPES, zip(*rounds)):
        seconds, exact = zip(*results)
        rows.append(row(name, seconds, firsts) | {"exact": spread(exact)})
    return rows


def trained(recipe: Recipe, seed: int) -> tuple[float, float]:
    """Train a translator: its seconds, and its share of translations of the
    test part that are right to the letter."""
    steps = 4 if TRYING else recipe.steps
    recipe = replace(recipe, seed=seed, steps=steps)
    trainer = Trainer(new_model(tiny_translator, seed), recipe)
    with torch.enable_grad():
        seconds = seconds_of(partial(train, trainer, part("train")))
    return seconds, scores(trainer.model)["exact_match"]
