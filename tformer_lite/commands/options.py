"""The options of every command: how they are read, what they are, and what
stands in them when they are left out."""

import argparse
from typing import Any

from tformer_lite.commands.trace import PRESETS
from tformer_lite.properties.subject import POSITIONS
from tformer_lite.training.recipe import SCHEDULES


def count(text: str) -> int:
    """Read a number of things: 1 or more."""
    return number(text, 1)


def number(text: str, least: int = 0) -> int:
    """Read a whole number."""
    if int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is less than {least}")
    return int(text)


def share(text: str) -> float:
    """Read a part of a number."""
    if not 0 <= float(text) <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return float(text)


def temperature(text: str) -> float:
    """Read a temperature."""
    if float(text) <= 0:
        raise argparse.ArgumentTypeError(
            f"{text} is not above 0; to take the likeliest each time, use "
            "--greedy"
        )
    if not float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return float(text)


def top_share(text: str) -> float:
    """Read a part of a number that is not 0."""
    if share(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{text} leaves nothing to draw from; 1 leaves everything"
        )
    return share(text)


def rate(text: str) -> float:
    """Read a learning rate."""
    if not 0 < float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return float(text)


# How argparse reads an option.
COUNT, NUMBER = ({"type": one, "metavar": "N"} for one in (count, number))
SHARE, RATE = ({"type": one, "metavar": "X"} for one in (share, rate))
HEAT, TOP = ({"type": one, "metavar": "X"} for one in (temperature, top_share))
TEXT, FLAG = {"metavar": "TEXT"}, {"action": "store_true"}
# How an option is read, and what it is.
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "resume": (
        FLAG,
        "go on from --save_path, if it is there, with its own options",
    ),
    "force": (
        FLAG,
        "replace --save_path; with --resume, go on even with other data",
    ),
    "block_size": (COUNT, "characters that a row of a batch has"),
    "max_seq_len": (COUNT, "positions that the model has"),
    "max_len": (COUNT, "tokens of a sentence, [SOS] and [EOS] included"),
    "vocab_size": (COUNT, "words of a language, when PATH is given"),
    "d_model": (COUNT, "channels"),
    "num_heads": (COUNT, "heads of each attention"),
    "num_layers": (COUNT, "blocks of each stack"),
    "d_ff": (COUNT, "hidden channels of the feed-forward layers"),
    "dropout": (SHARE, "share of the values dropped in training"),
    "batch_size": (COUNT, "rows of a batch"),
    "lr": (RATE, "the highest learning rate"),
    "warmup": (NUMBER, "steps in which the learning rate climbs"),
    "schedule": ({"choices": [*SCHEDULES]}, "what it does afterwards"),
    "epochs": (COUNT, "times through the data"),
    "steps": (COUNT, "batches to learn from, instead of --epochs"),
    "patience": (COUNT, "stop after so many losses without a lower one"),
    "smoothing": (SHARE, "share of each label that all tokens get"),
    "train_split": (SHARE, "share of the text to train on"),
    "save_path": (TEXT, "the checkpoint to write"),
    "demo": (TEXT, "the prompt of a sample, in the end"),
    "seed": (NUMBER, "where the random numbers start"),
    "device": (
        {"choices": ["auto", "cpu", "cuda"]},
        "where to compute; auto is cuda when there is one",
    ),
    "ckpt": (TEXT, "the checkpoint to use"),
    "max_new_tokens": (COUNT, "characters, or words, to write"),
    "temperature": (HEAT, "below 1 the likely becomes likelier"),
    "top_k": (NUMBER, "draw from so many of the likeliest; 0: from all"),
    "top_p": (TOP, "draw from the likeliest with this share together"),
    "num_samples": (COUNT, "texts to write"),
    "context": (COUNT, "characters to read at a time, if not as trained"),
    "greedy": (FLAG, "take the likeliest each time, and draw nothing"),
    "model": (TEXT, "a model of your own: file.py:make or module:make"),
    "interactive": (FLAG, "ask again and again; an empty line ends it"),
    "heatmap": (TEXT, "a .png or .svg: what each word attends to"),
    "shapes": (FLAG, "print the shapes of each module for this sentence"),
    "beam": (COUNT, "beginnings to follow; 1 is greedy"),
    "preset": ({"choices": [*PRESETS]}, "the model"),
    "path": (TEXT, "print every call in this module; * is anything"),
    "json": (TEXT, "a file to write the whole trace to"),
    "calls": (FLAG, "print every torch call, not the modules"),
    "depth": (COUNT, "levels of modules to print, if not what fits a screen"),
    "pad": (NUMBER, "the id of padding"),
    "no-causal": (FLAG, "the future may be heard, as in an encoder"),
    "positions": (COUNT, "positions of an input to push, at most"),
    "output": (TEXT, "what to judge of what the model gives, by its name"),
    "expect": (
        {"metavar": "NAME=REASON", "action": "append"},
        "a finding that is known, and why; may be given again",
    ),
    "chapter": (NUMBER, "the exercises of this chapter alone"),
    "points": (TEXT, "10 for each, or name=10,other=5"),
    "classroom seed": (TEXT, "any word: it draws what answers are tried on"),
    "title": (TEXT, "what stands above the exercises"),
    "out": (TEXT, "the file to write"),
    "assignment": (TEXT, "the .json that `classroom assign` wrote"),
    "roster": (TEXT, "a CSV of your course, as Canvas or Moodle exports it"),
    "marks": (TEXT, "a CSV of points given by hand"),
    "seconds": (COUNT, "time for one submission"),
    "trust-submissions": (
        FLAG,
        "run without bubblewrap: only what you wrote yourself",
    ),
}

# fmt: off
TRAINING = {
    "warmup": 0, "schedule": "constant", "smoothing": 0.0, "patience": None,
    "seed": 0, "device": "auto",
}
# Source 002's own.
CHAR = {
    "resume": False, "force": False,
    "block_size": 32, "batch_size": 32,
    "d_model": 128, "num_heads": 4, "num_layers": 2, "d_ff": 256,
    "max_seq_len": 64, "dropout": 0.1,
    "lr": 3e-4, "epochs": 50, "steps": None, "train_split": 0.8,
    "save_path": "tiny_transformer.pt", "demo": "amar",
    **TRAINING,
}
# Source 000's sizes, and a training that suits them.
TRANSLATE = {
    "resume": False, "force": False,
    "max_len": 8, "vocab_size": 1024, "batch_size": 32,
    "d_model": 12, "num_heads": 3, "num_layers": 1, "d_ff": 48,
    "dropout": 0.0,
    "lr": 3e-2, "epochs": None, "steps": 1700,
    "save_path": "translator.pt",
    **TRAINING, "warmup": 100, "schedule": "cosine",
}
# Source 002's again, and nucleus sampling.
WRITING = {
    "ckpt": "tiny_transformer.pt", "max_new_tokens": 100,
    "temperature": 1.0, "top_k": 0, "top_p": 1.0, "num_samples": 1,
    "context": None, "seed": None, "greedy": False, "model": None,
    "interactive": False,
}
TRANSLATING = {
    "ckpt": None, "beam": 1, "max_len": None, "heatmap": None,
    "shapes": False, "interactive": False,
}
TRACING = {
    "preset": "tiny_translator", "path": None, "json": None, "calls": False,
    "depth": None,
}
CHECKING = {
    "pad": None, "no-causal": False, "positions": POSITIONS, "output": None,
    "expect": None,
}
LISTING = {"chapter": None}
ASSIGNING = {
    "points": "10", "classroom seed": "0", "title": "Exercises",
    "out": "exercises.ipynb",
}
GRADING = {
    "assignment": "exercises.json", "out": "grades.csv", "roster": None,
    "marks": None, "seconds": 20, "trust-submissions": False,
}
PACKING = {"assignment": "exercises.json", "out": "autograder.zip"}
# fmt: on
