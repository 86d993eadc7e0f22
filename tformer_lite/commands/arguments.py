"""The commands, and what --help says of them."""

import textwrap
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Any

from tformer_lite.commands.generate import write
from tformer_lite.commands.options import (
    CHAR,
    TRACING,
    TRANSLATE,
    TRANSLATING,
    WRITING,
    Parser,
    add_options,
)
from tformer_lite.commands.session import PROGRAM
from tformer_lite.commands.trace import show_trace
from tformer_lite.commands.train_char import train_char
from tformer_lite.commands.train_translate import train_translate
from tformer_lite.commands.translate import translate

ABOUT = {
    "": "Train a small Transformer, use it, and see its shapes.",
    "train": "Train a model from the start, or go on with --resume.",
    "train char": "Train a model that writes character by character. The "
    "defaults are source 002's.",
    "train translate": "Train a translator: on the English-Nepali corpus "
    "that comes with it, at the size of the book's running example, or on "
    "pairs of your own.",
    "generate": "Write more of a text, with a model of `train char`.",
    "translate": "Translate sentences, with the trained English-Nepali "
    "translator or one of `train translate`.",
    "trace": "Print the shapes of a preset, measured while it reads the "
    "book's running example.",
}
TO_TRY = {
    "": [
        "train char book.txt",
        "generate 'Once upon'",
        "train translate",
        "translate 'this is not my book.'",
        "trace",
    ],
    "train": ["train char book.txt --epochs 5", "train translate --resume"],
    "train char": [
        "train char book.txt --epochs 5",
        "train char book.txt --steps 2000 --schedule cosine",
        "train char book.txt --resume --epochs 60",
    ],
    "train translate": [
        "train translate",
        "train translate pairs.tsv --max_len 12 --d_model 48",
    ],
    "generate": [
        "generate",
        "generate 'Once upon' --top_k 20 --num_samples 3",
    ],
    "translate": [
        "translate 'this is not my book.' 'we bought flowers.'",
        "translate --ckpt translator.pt --beam 4 < english.txt",
    ],
    "trace": [
        "trace",
        "trace --path decoder.blocks.0.cross_attention",
        "trace --preset char_lm --calls --json trace.json",
    ],
}
# What stands in a command without a sign, how often, and what it is.
WORDS = {
    "train char": ("path", None, "a text, in UTF-8"),
    "train translate": (
        "path",
        "?",
        "pairs: a sentence, a tab and its translation on each line",
    ),
    "generate": (
        "prompt",
        "?",
        "the text to go on with; asked for when it is left out",
    ),
    "translate": (
        "sentences",
        "*",
        "a sentence, in quotes; without any, the lines of stdin",
    ),
}
RUNS: dict[str, tuple[Callable[[Namespace], None], dict[str, Any]]] = {
    "train char": (train_char, CHAR),
    "train translate": (train_translate, TRANSLATE),
    "generate": (write, WRITING),
    "translate": (translate, TRANSLATING),
    "trace": (show_trace, TRACING),
}
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]"}
TORCHRUN = "torchrun --nproc-per-node 2 -m tformer_lite"


def read(argv: list[str] | None = None) -> Namespace:
    """Read a command and its options.

    `run` is the function to call, `given` has the options that were typed.
    """
    given = vars(commands().parse_args(argv))
    defaults = given.pop("defaults", {})
    return Namespace(**defaults | given, given=given)


def commands() -> Parser:
    """Describe every command, and the two within `train`."""
    top = Parser(prog=PROGRAM, **help_texts(""))
    every = top.add_subparsers(metavar="COMMAND", required=True)
    train = add_command(every, "train", "KIND ...")
    kinds = train.add_subparsers(metavar="KIND", required=True)
    for name, (run, defaults) in RUNS.items():
        group = kinds if name.startswith("train ") else every
        word, nargs, about = WORDS.get(name, ("", None, ""))
        sign = word.upper().rstrip("S")
        usage = f"[OPTION...] {SHAPES[nargs].format(sign)}".rstrip()
        parser = add_command(group, name, usage)
        if word:
            parser.add_argument(word, metavar=sign, nargs=nargs, help=about)
        add_options(parser, defaults)
        parser.set_defaults(run=run, defaults=defaults)
    return top


def add_command(group: Any, name: str, usage: str) -> Parser:
    """Add a command to those beside it."""
    return group.add_parser(
        name.split()[-1],
        help=ABOUT[name].split(":")[0].split(". ")[0].rstrip("."),
        allow_abbrev=False,
        usage=f"{PROGRAM} {name} {usage}",
        **help_texts(name),
    )


def help_texts(name: str) -> dict[str, Any]:
    """What --help says first and last: the purpose, and what to try."""
    lines = [f"  {PROGRAM} {words}" for words in TO_TRY[name]]
    if name.startswith("train"):
        lines += ["by two processes, each with its share of the data:"]
        lines += [f"  {TORCHRUN} {TO_TRY[name][0]}"]
    return {
        "description": textwrap.fill(ABOUT[name], 78),
        "epilog": "\n".join(["examples:", *lines]),
        "formatter_class": RawDescriptionHelpFormatter,
    }
