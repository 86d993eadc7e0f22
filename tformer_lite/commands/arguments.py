"""What one can type: the commands, their options, and what --help says."""

import argparse
import textwrap
from argparse import SUPPRESS, Namespace
from collections.abc import Callable
from typing import Any, NoReturn

from tformer_lite.commands.session import PROGRAM
from tformer_lite.commands.trace import PRESETS, show_trace
from tformer_lite.commands.translating import train_translate, translate
from tformer_lite.commands.writing import train_char, write
from tformer_lite.training.recipe import SCHEDULES

# What to try: the words that follow a command's name.
TO_TRY = {
    "": [
        "train char book.txt",
        "generate 'Once upon'",
        "train translate",
        "translate 'this is not my book.'",
        "trace",
    ],
    "train": ["char book.txt --epochs 5", "translate --resume"],
    "train char": [
        "book.txt --epochs 5",
        "book.txt --steps 2000 --schedule cosine",
        "book.txt --resume --epochs 60",
    ],
    "train translate": ["", "pairs.tsv --max_len 12 --d_model 48"],
    "generate": ["", "'Once upon' --top_k 20 --num_samples 3"],
    "translate": [
        "'this is not my book.' 'we bought flowers.'",
        "--ckpt translator.pt --beam 4 < english.txt",
    ],
    "trace": [
        "",
        "--path decoder.blocks.0.cross_attention",
        "--preset char_lm --calls --json trace.json",
    ],
}
# What stands in a command without a sign, how often, and what it is.
PAIRS = "pairs: a sentence, a tab and its translation on each line"
PROMPT = "the text to go on with; asked for when it is left out"
SENTENCES = "a sentence, in quotes; without any, the lines of stdin"
WORDS = {
    "train char": ("path", None, "a text, in UTF-8"),
    "train translate": ("path", "?", PAIRS),
    "generate": ("prompt", "?", PROMPT),
    "translate": ("sentences", "*", SENTENCES),
}
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
# The functions, whose docstrings are what --help says, and their defaults.
RUNS: dict[str, tuple[Callable[[Namespace], None], dict[str, Any]]] = {
    "train char": (train_char, CHAR),
    "train translate": (train_translate, TRANSLATE),
    "generate": (write, WRITING),
    "translate": (translate, TRANSLATING),
    "trace": (show_trace, TRACING),
}
ABOUT = {name: str(run.__doc__) for name, (run, _) in RUNS.items()}
ABOUT[""] = "Train a small Transformer, use it, and see its shapes."
ABOUT["train"] = "Train a model from the start, or go on with --resume."
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]"}
TORCHRUN = "torchrun --nproc-per-node 2 -m tformer_lite"


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


# How argparse reads an option.
COUNT, NUMBER = ({"type": one, "metavar": "N"} for one in (count, number))
SHARE, RATE = ({"type": one, "metavar": "X"} for one in (share, rate))
REAL = {"type": float, "metavar": "X"}
TEXT, FLAG = {"metavar": "TEXT"}, {"action": "store_true"}
# How an option is read, and what it is.
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "resume": (
        FLAG,
        "go on from --save_path, if it is there, with its own options",
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
    "max_new_tokens": (COUNT, "characters to write"),
    "temperature": (REAL, "below 1 the likely becomes likelier"),
    "top_k": (NUMBER, "draw from so many of the likeliest; 0: from all"),
    "top_p": (REAL, "draw from the likeliest with this share together"),
    "num_samples": (COUNT, "texts to write"),
    "context": (COUNT, "characters to read at a time, if not as trained"),
    "beam": (COUNT, "beginnings to follow; 1 is greedy"),
    "preset": ({"choices": [*PRESETS]}, "the model"),
    "path": (TEXT, "print every call in this module; * is anything"),
    "json": (TEXT, "a file to write the whole trace to"),
    "calls": (FLAG, "print every torch call, not every module"),
}


def read(argv: list[str] | None = None) -> Namespace:
    """Read a command and its options; --steps stand in for --epochs.

    `run` is the function to call, `given` has the options that were typed.
    """
    given = vars(commands().parse_args(argv))
    options = given.pop("defaults") | given
    if "steps" in given:
        options["epochs"] = None
    return Namespace(**options, given=given)


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
    texts = help_texts(name)
    about = texts["description"].replace("\n", " ")
    return group.add_parser(
        name.split()[-1],
        help=about.split(":")[0].split(". ")[0].rstrip("."),
        allow_abbrev=False,
        prog=f"{PROGRAM} {name}",
        usage=f"%(prog)s {usage}",
        **texts,
    )


def help_texts(name: str) -> dict[str, Any]:
    """What --help says first and last: the purpose, and what to try."""
    typed = [f"{name} {words}".strip() for words in TO_TRY[name]]
    lines = [f"  {PROGRAM} {words}" for words in typed]
    if name.startswith("train"):
        lines += ["by two processes, each with its share of the data:"]
        lines += [f"  {TORCHRUN} {typed[0]}"]
    return {
        "description": textwrap.fill(" ".join(ABOUT[name].split()), 78),
        "epilog": "\n".join(["examples:", *lines]),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def add_options(parser: Parser, defaults: dict[str, Any]) -> None:
    """Add options, as `--d_model 128`, that are left out unless typed."""
    either = parser.add_mutually_exclusive_group()
    for name, default in defaults.items():
        place = either if name in ("epochs", "steps") else parser
        how, text = OPTIONS[name]
        if default is not None and how is not FLAG:
            text += f" (default: {default})"
        place.add_argument(f"--{name}", default=SUPPRESS, help=text, **how)
