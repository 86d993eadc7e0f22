"""The command line: python -m tformer_lite --help."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

OptionTexts = dict[str, tuple[type, str]]  # how each is read, and what it is
RECIPE_OPTIONS: OptionTexts = {
    "force": (bool, "replace the checkpoint"),
    "resume": (bool, "go on from the checkpoint's newest weights"),
    "steps": (int, "batches to learn from"),
    "batch_size": (int, "rows of a batch"),
    "lr": (float, "the highest learning rate"),
    "d_model": (int, "channels"),
    "num_heads": (int, "heads of each attention"),
    "num_layers": (int, "blocks of each stack"),
    "d_ff": (int, "hidden channels of the feed-forward layers"),
    "dropout": (float, "share of the values dropped in training"),
    "device": (str, "where to compute; without it cuda, if there is one"),
}
TEXT_OPTIONS: OptionTexts = {
    "epochs": (int, "times through all windows of the text, not steps"),
    "block_size": (int, "characters that a row of a batch has"),
    "max_seq_len": (int, "positions of the model, if there are more"),
    "as-in-source": (bool, "take source 002's sizes and its 50 epochs"),
}
OTHER_OPTIONS: OptionTexts = {
    "ckpt": (str, "the checkpoint to use"),
    "save_path": (str, "the checkpoint to write"),
    "max_new_tokens": (int, "characters to write"),
    "temperature": (float, "below 1 the likely becomes likelier"),
    "top_k": (int, "draw from so many of the likeliest; 0: from all"),
    "num_samples": (int, "texts to write"),
}
OPTIONS = RECIPE_OPTIONS | TEXT_OPTIONS | OTHER_OPTIONS
# AssertionError is PyTorch's, of a device that there is not.
FAULTS = ValueError, RuntimeError, ArithmeticError, AssertionError
WRITER = "tiny_transformer.pt"
# What each command does, the word that it reads, how often that may stand
# there, and its options: what they are unless typed. The file that a training
# reads decides where that is None.
Command = tuple[str, str, str | None, dict[str, Any]]
COMMANDS: dict[str, Command] = {
    "train char": (
        "train a model that writes character by character, on a text, which "
        "decides what is not typed",
        "file",
        None,
        {"save_path": WRITER}
        | dict.fromkeys([*RECIPE_OPTIONS, *TEXT_OPTIONS]),
    ),
    "generate": (
        "write more of a text, with a model of `train char`; without a "
        "prompt, it is asked for",
        "prompt",
        "?",
        {"max_new_tokens": 100, "temperature": 1.0, "top_k": 0}
        | {"num_samples": 1, "ckpt": WRITER},
    ),
}


def command_line() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    about = "Train a small language model, and write with it."
    top = argparse.ArgumentParser("python -m tformer_lite", description=about)
    names = top.add_subparsers(metavar="COMMAND", required=True)
    train = names.add_parser("train", help="train a model on a file")
    groups = {"": names, "train": train.add_subparsers(metavar="KIND")}
    groups["train"].required = True
    for name, (about, word, often, options) in COMMANDS.items():
        group, _, kind = name.rpartition(" ")
        sentence = f"{about[0].upper()}{about[1:]}."
        command = groups[group].add_parser(
            kind, help=about, description=sentence
        )
        command.set_defaults(command=name)
        command.add_argument(word, nargs=often)
        for option, usual in options.items():
            add_option(command, option, usual)
    return top


def add_option(
    command: argparse.ArgumentParser, name: str, usual: Any
) -> None:
    """Describe an option, and what it is unless typed."""
    kind, text = OPTIONS[name]
    if kind is bool:
        command.add_argument(f"--{name}", help=text, action="store_true")
        return
    text += "" if usual is None else f" (default: {usual})"
    how = {"type": kind, "default": usual, "metavar": kind.__name__.upper()}
    command.add_argument(f"--{name}", help=text, **how)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, and give its exit code: 0; 2 after an error and 130
    after Ctrl-C, which are one line on stderr."""
    args = command_line().parse_args(argv)
    commands = import_module("tformer_lite.commands")  # --help needs no torch
    try:
        commands.FUNCTIONS[args.command](args)
    except KeyboardInterrupt as stop:
        return complain(str(stop) or "stopped", 130)
    except OSError as error:
        named = error.filename and f"{error.filename}: {error.strerror}"
        return complain(named or str(error), 2)
    except FAULTS as error:
        return complain(str(error), 2)
    return 0


def complain(text: str, code: int) -> int:
    """Say what went wrong."""
    print(f"tformer_lite: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    for stream in sys.stdout, sys.stderr:  # of a terminal with few letters
        stream.reconfigure(errors="replace", line_buffering=True)  # type: ignore
    sys.exit(main())
