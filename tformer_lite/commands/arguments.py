"""The commands, and what --help says of them."""

import textwrap
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from typing import Any

from tformer_lite.commands import options
from tformer_lite.commands.session import PROGRAM
from tformer_lite.commands.trace import show_trace
from tformer_lite.commands.translating import train_translate, translate
from tformer_lite.commands.writing import train_char, write

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
# The functions, whose docstrings are what --help says, and their defaults.
RUNS: dict[str, tuple[Callable[[Namespace], None], dict[str, Any]]] = {
    "train char": (train_char, options.CHAR),
    "train translate": (train_translate, options.TRANSLATE),
    "generate": (write, options.WRITING),
    "translate": (translate, options.TRANSLATING),
    "trace": (show_trace, options.TRACING),
}
ABOUT = {name: str(run.__doc__) for name, (run, _) in RUNS.items()}
ABOUT[""] = "Train a small Transformer, use it, and see its shapes."
ABOUT["train"] = "Train a model from the start, or go on with --resume."
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]"}
TORCHRUN = "torchrun --nproc-per-node 2 -m tformer_lite"


def read(argv: list[str] | None = None) -> Namespace:
    """Read a command and its options.

    `run` is the function to call, `given` has the options that were typed.
    """
    given = vars(commands().parse_args(argv))
    defaults = given.pop("defaults", {})
    return Namespace(**defaults | given, given=given)


def commands() -> options.Parser:
    """Describe every command, and the two within `train`."""
    top = options.Parser(prog=PROGRAM, **help_texts(""))
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
        options.add_options(parser, defaults)
        parser.set_defaults(run=run, defaults=defaults)
    return top


def add_command(group: Any, name: str, usage: str) -> options.Parser:
    """Add a command to those beside it."""
    texts = help_texts(name)
    about = texts["description"].replace("\n", " ")
    return group.add_parser(
        name.split()[-1],
        help=about.split(":")[0].split(". ")[0].rstrip("."),
        allow_abbrev=False,
        usage=f"{PROGRAM} {name} {usage}",
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
        "formatter_class": RawDescriptionHelpFormatter,
    }
