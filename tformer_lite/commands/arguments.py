"""The commands, and what --help says of them."""

import argparse
import textwrap
from collections.abc import Callable

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
EXAMPLES = {
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
USAGE = {
    "train": "KIND ...",
    "train char": "[OPTION...] PATH",
    "train translate": "[OPTION...] [PATH]",
    "generate": "[OPTION...] [PROMPT]",
    "translate": "[OPTION...] [SENTENCE...]",
    "trace": "[OPTION...]",
}
TORCHRUN = "torchrun --nproc-per-node 2 -m tformer_lite"


def read(argv: list[str] | None = None) -> argparse.Namespace:
    """Read a command and its options.

    `run` is the function to call, `given` has the options that were typed.
    """
    given = vars(commands().parse_args(argv))
    defaults = given.pop("defaults", {})
    return argparse.Namespace(**defaults | given, given=given)


def commands() -> Parser:
    """Describe every command, and the two within `train`."""
    top = Parser(prog=PROGRAM, **described(""))
    every = top.add_subparsers(metavar="COMMAND", required=True)
    kinds = add(every, "train").add_subparsers(metavar="KIND", required=True)
    add_training(add(kinds, "train char", train_char), CHAR)
    add_training(add(kinds, "train translate", train_translate), TRANSLATE)
    add_prompt(add(every, "generate", write))
    add_sentences(add(every, "translate", translate))
    add_trace(add(every, "trace", show_trace))
    return top


def add(group, name: str, run: Callable | None = None) -> Parser:
    """Add a command to those beside it, and what runs it."""
    parser = group.add_parser(
        name.split()[-1],
        help=ABOUT[name].split(":")[0].split(". ")[0].rstrip("."),
        allow_abbrev=False,
        usage=f"{PROGRAM} {name} {USAGE[name]}",
        **described(name),
    )
    parser.set_defaults(run=run)
    return parser


def described(name: str) -> dict:
    """What --help says first and last: the purpose, and examples."""
    lines = [f"  {PROGRAM} {example}" for example in EXAMPLES[name]]
    if name.startswith("train"):
        lines += ["by two processes, each with its share of the data:"]
        lines += [f"  {TORCHRUN} {EXAMPLES[name][0]}"]
    return {
        "description": textwrap.fill(ABOUT[name], 78),
        "epilog": "\n".join(["examples:", *lines]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def add_training(parser: Parser, defaults: dict) -> None:
    """Add a training's data, and its options."""
    if "max_len" in defaults:
        about = "pairs: a sentence, a tab and its translation on each line"
        parser.add_argument("path", metavar="PATH", nargs="?", help=about)
    else:
        parser.add_argument("path", metavar="PATH", help="a text, in UTF-8")
    about = "go on from --save_path, if it is there, with its own options"
    parser.add_argument("--resume", action="store_true", help=about)
    add_options(parser, defaults)


def add_prompt(parser: Parser) -> None:
    """Add a text to go on with, and how."""
    about = "the text to go on with; asked for when it is left out"
    parser.add_argument("prompt", metavar="PROMPT", nargs="?", help=about)
    add_options(parser, WRITING)


def add_sentences(parser: Parser) -> None:
    """Add the sentences to translate, and how."""
    about = "a sentence, in quotes; without any, the lines of stdin"
    parser.add_argument("sentences", metavar="SENTENCE", nargs="*", help=about)
    add_options(parser, TRANSLATING)


def add_trace(parser: Parser) -> None:
    """Add the model to trace, and what to print of it."""
    add_options(parser, TRACING)
    about = "print every torch call, not every module"
    parser.add_argument("--calls", action="store_true", help=about)
