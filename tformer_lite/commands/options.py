"""The options of every command: how they are read, what they are, and what
stands in them when they are left out."""

import argparse
from collections.abc import Callable
from typing import Any

from tformer_lite.commands.inspecting import PRESETS
from tformer_lite.commands.program import (
    COUNT,
    FLAG,
    TEXT,
    TRACE_DEFAULTS,
    TRACE_OPTIONS,
    WHOLE_NUMBER,
)
from tformer_lite.model.choices import PARTS
from tformer_lite.model.config import Config, char_lm, tiny_translator
from tformer_lite.model.models import BLOCKS
from tformer_lite.training.checkpoints import SOURCE_NAMES
from tformer_lite.training.recipe import SCHEDULES, Recipe


def number_that(fits: Callable[[float], bool], wrong: str) -> dict[str, Any]:
    """Describe an option that is a number which `fits`; of another, `wrong`
    says what it is."""

    def number(text: str) -> float:
        if not fits(float(text)):
            raise argparse.ArgumentTypeError(f"{text} {wrong}")
        return float(text)

    return {"type": number, "metavar": "X"}


INF = float("inf")
PORTION = number_that(lambda x: 0 <= x <= 1, "is not between 0 and 1")
MINUTES = number_that(
    lambda x: 0 < x < INF,
    "is not above 0 and finite: give a number of minutes, such as 2.5",
)
RATE = number_that(
    lambda x: 0 < x < INF,
    "is not above 0 and finite: give a rate, such as 0.005",
)
BETA = number_that(
    lambda x: 0 <= x < 1,
    "is not 0 or more and below 1: give two such shares, as 0.9 0.98",
)
MEASURE = number_that(lambda x: x >= 0, "is less than 0")
TEMPERATURE = number_that(
    lambda x: 0 < x < INF,
    "is no number above 0; to take the likeliest each time, use --top_k 1",
)
TOP_SHARE = number_that(
    lambda x: 0 < x <= 1,
    "is not between 0 and 1, or leaves nothing to draw from",
)
DEVICES = "auto", "cpu", "cuda"
# How an option is read, and what it is.
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "minutes": (MINUTES, "about how long to train, or to go on with --resume"),
    "steps": (COUNT, "batches to learn from"),
    "epochs": (COUNT, "times through the data, in place of steps"),
    "as-in-source": (FLAG, "take source 002's sizes, optimizer and 50 epochs"),
    "resume": (FLAG, "go on from --save_path, with its own options"),
    "force": (FLAG, "replace --save_path, or --resume it with other data"),
    "block_size": (COUNT, "characters that a row of a batch has"),
    "max_seq_len": (
        COUNT,
        "positions of the model, where there are more",
    ),
    "max_len": (COUNT, "tokens of a sentence, its [SOS] and [EOS] included"),
    "drop-long": (
        FLAG,
        "go on without the pairs that are longer, however many",
    ),
    "vocab_size": (COUNT, "words of a language, when PATH is given"),
    "d_model": (COUNT, "channels"),
    "num_heads": (COUNT, "heads of each attention"),
    "n_kv_heads": (COUNT, "heads of keys and values, if they are shared"),
    "window": (COUNT, "positions that one attends to, itself included"),
    "num_layers": (COUNT, "blocks of each stack"),
    "d_ff": (COUNT, "hidden channels of the feed-forward layers"),
    "tied": (FLAG, "let the last layer have the target embedding's weights"),
    "dropout": (PORTION, "share of the values dropped in training"),
    **{
        name: ({"choices": [*(PARTS | {"residual": BLOCKS})[name]]}, text)
        for name, text in {
            "attention": "how positions attend to each other",
            "positions": "what tells the positions from one another",
            "norm": "what normalises the channels",
            "residual": "the norm comes before each sublayer, or after it",
            "feed_forward": "what works on each position alone",
            "activation": "the function of its hidden channels",
            "embedding": "how the vectors of tokens are scaled",
        }.items()
    },
    "batch_size": (COUNT, "rows of a batch"),
    "lr": (RATE, "the highest learning rate"),
    "warmup": (WHOLE_NUMBER, "steps in which the learning rate climbs"),
    "schedule": ({"choices": [*SCHEDULES]}, "what it does afterwards"),
    "betas": (BETA | {"nargs": 2}, "how long AdamW remembers: two shares"),
    "weight_decay": (MEASURE, "how hard AdamW pulls weights towards 0"),
    "smoothing": (PORTION, "share of each label that all tokens get"),
    "clip": (MEASURE, "the largest norm of all gradients; inf: no limit"),
    "bf16": (FLAG, "multiply in bfloat16 where PyTorch finds that safe"),
    "patience": (COUNT, "stop after so many validations without a lower loss"),
    "train_split": (
        PORTION,
        "share of the text, from its start, to train on",
    ),
    "save_path": (TEXT, "the checkpoint to write"),
    "demo": (TEXT, "the prompt of a sample, in the end"),
    "seed": (WHOLE_NUMBER, "where the random numbers start"),
    "device": ({"choices": DEVICES}, "where to compute; auto: cuda, if any"),
    "ckpt": (TEXT, "the checkpoint to use"),
    "max_new_tokens": (COUNT, "characters, or words, to write"),
    "temperature": (TEMPERATURE, "below 1 the likely becomes likelier"),
    "top_k": (WHOLE_NUMBER, "draw from so many of the likeliest; 0: from all"),
    "top_p": (TOP_SHARE, "draw from the likeliest with this share together"),
    "num_samples": (COUNT, "texts to write"),
    "heatmap": (TEXT, "a .png or .svg: what each word attends to"),
    "shapes": (FLAG, "print the shapes of each module for this sentence"),
    "beam": (COUNT, "beginnings to follow; 1 is greedy"),
    "preset": ({"choices": [*PRESETS]}, "the model"),
    **TRACE_OPTIONS,
}

# Each is a time to train for, and says how many steps there are.
DURATIONS = ("minutes", "steps", "epochs")
# Options that are a config's, with its name for each, and a recipe's.
MODEL_FIELDS = {*PARTS, "residual", "n_kv_heads", "window", "tied"}
MODEL_OPTIONS = {
    name: SOURCE_NAMES.get(name, name)
    for name in OPTIONS
    if name in MODEL_FIELDS or (name in SOURCE_NAMES and name != "max_seq_len")
}
ROW_OPTIONS = ["block_size", "max_seq_len", "max_len", "vocab_size"]
RECIPE = [name for name in OPTIONS if name in Recipe.__dataclass_fields__]


def options_of(config: Config) -> dict[str, Any]:
    """Say with options which model a config describes."""
    return {n: getattr(config, ours) for n, ours in MODEL_OPTIONS.items()}


# fmt: off
COMMON: dict[str, Any] = {
    "steps": None, "epochs": None, "resume": False, "force": False,
    "seed": Recipe.seed, "device": "auto",
}
RECIPE_DEFAULTS = {n: getattr(Recipe, n) for n in RECIPE if n not in COMMON}
# What is None here depends on the text.
TRAIN_CHAR = {
    "minutes": 2.0, **COMMON, "save_path": "tiny_transformer.pt",
    "train_split": 0.9, "demo": None, "as-in-source": False,
    "block_size": None, "max_seq_len": None, **dict.fromkeys(MODEL_OPTIONS),
    **dict.fromkeys(RECIPE_DEFAULTS),
}
# Source 002's own: Adam, which clips nothing.
AS_IN_SOURCE = options_of(char_lm) | {
    "max_seq_len": char_lm.max_len, "block_size": 32, "batch_size": 32,
    "epochs": 50, "lr": 3e-4, "schedule": "constant", "warmup": 0,
    "betas": (0.9, 0.999), "weight_decay": 0.0, "clip": float("inf"),
    "train_split": 0.8, "demo": "amar",
}
# What is None here depends on the pairs.
TRAIN_TRANSLATE = {
    "minutes": None, **COMMON, "save_path": "translator.pt",
    "drop-long": False, "max_len": None, "vocab_size": None,
    **dict.fromkeys(MODEL_OPTIONS), **dict.fromkeys(RECIPE_DEFAULTS),
}
# Source 000's sizes, and a training that suits them: the high learning rate
# asks for short steps.
AS_IN_BOOK = options_of(tiny_translator) | {
    "steps": 1300, "max_len": tiny_translator.max_len, "batch_size": 64,
    "lr": 2e-2, "warmup": 50, "schedule": "wsd", "weight_decay": 0.1,
    "clip": 0.5,
}
# Source 002's again, and nucleus sampling.
GENERATE = {
    "ckpt": "tiny_transformer.pt", "max_new_tokens": 100,
    "temperature": 1.0, "top_k": 0, "top_p": 1.0, "num_samples": 1,
    "seed": None,
}
TRANSLATE = {
    "ckpt": None, "beam": 1, "heatmap": None, "shapes": False,
}
TRACE = {"preset": "tiny_translator", **TRACE_DEFAULTS}
# fmt: on
