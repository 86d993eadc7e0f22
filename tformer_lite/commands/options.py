"""The options of the commands: their defaults, kinds and meaning."""

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from tformer_lite.commands.trace import PRESETS
from tformer_lite.training.recipe import SCHEDULES

# fmt: off
TRAINING = {
    "warmup": 0, "schedule": "constant", "smoothing": 0.0, "patience": None,
    "seed": 0, "device": "auto",
}
# Source 002's own.
CHAR = {
    "resume": False,
    "block_size": 32, "batch_size": 32,
    "d_model": 128, "num_heads": 4, "num_layers": 2, "d_ff": 256,
    "max_seq_len": 64, "dropout": 0.1,
    "lr": 3e-4, "epochs": 50, "steps": None, "train_split": 0.8,
    "save_path": "tiny_transformer.pt", "demo": "amar",
    **TRAINING,
}
# Source 000's sizes, and a training that suits them.
TRANSLATE = {
    "resume": False,
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
    "context": None, "seed": None,
}
TRANSLATING = {"ckpt": None, "beam": 1, "max_len": None}
TRACING = {
    "preset": "tiny_translator", "path": None, "json": None, "calls": False,
}
# fmt: on


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        self.exit(2, f"tformer_lite: {message}; see {self.prog} --help\n")


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


def rate(text: str) -> float:
    """Read a learning rate."""
    if not 0 < float(text) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return float(text)


# What an option reads, and what it is.
OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "resume": (
        bool,
        "go on from --save_path, if it is there, with its own options",
    ),
    "block_size": (count, "characters that a row of a batch has"),
    "max_seq_len": (count, "positions that the model has"),
    "max_len": (count, "tokens of a sentence, [SOS] and [EOS] included"),
    "vocab_size": (count, "words of a language, when PATH is given"),
    "d_model": (count, "channels"),
    "num_heads": (count, "heads of each attention"),
    "num_layers": (count, "blocks of each stack"),
    "d_ff": (count, "hidden channels of the feed-forward layers"),
    "dropout": (share, "share of the values dropped in training"),
    "batch_size": (count, "rows of a batch"),
    "lr": (rate, "the highest learning rate"),
    "warmup": (number, "steps in which the learning rate climbs"),
    "schedule": (str, "what it does afterwards"),
    "epochs": (count, "times through the data"),
    "steps": (count, "batches to learn from, instead of --epochs"),
    "patience": (count, "stop after so many losses without a lower one"),
    "smoothing": (share, "share of each label that all tokens get"),
    "train_split": (share, "share of the text to train on"),
    "save_path": (str, "the checkpoint to write"),
    "demo": (str, "the prompt of a sample, in the end"),
    "seed": (number, "where the random numbers start"),
    "device": (str, "where to compute; auto is cuda when there is one"),
    "ckpt": (str, "the checkpoint to use"),
    "max_new_tokens": (count, "characters to write"),
    "temperature": (float, "below 1 the likely becomes likelier"),
    "top_k": (number, "draw from so many of the likeliest; 0: from all"),
    "top_p": (float, "draw from the likeliest with this share together"),
    "num_samples": (count, "texts to write"),
    "context": (count, "characters to read at a time, if not as trained"),
    "beam": (count, "beginnings to follow; 1 is greedy"),
    "preset": (str, "the model"),
    "path": (str, "print every call in this module; * is anything"),
    "json": (str, "a file to write the whole trace to"),
    "calls": (bool, "print every torch call, not every module"),
}
SIGNS = {count: "N", number: "N", share: "X", rate: "X", float: "X"}
CHOICES = {
    "schedule": [*SCHEDULES],
    "device": ["auto", "cpu", "cuda"],
    "preset": [*PRESETS],
}


def add_options(
    parser: argparse.ArgumentParser, defaults: dict[str, Any]
) -> None:
    """Add options, as `--d_model 128`, that are left out unless typed."""
    either = parser.add_mutually_exclusive_group()
    for name, default in defaults.items():
        kind, text = OPTIONS[name]
        place = either if name in ("epochs", "steps") else parser
        how: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text}
        if kind is bool:
            place.add_argument(f"--{name}", action="store_true", **how)
            continue
        if default is not None:
            how["help"] += f" (default: {default})"
        if name in CHOICES:
            how["choices"] = CHOICES[name]
        else:
            how["metavar"] = SIGNS.get(kind, "TEXT")
        place.add_argument(f"--{name}", type=kind, **how)
