"""What one can type: the commands, their options, and what --help says."""

import argparse
import textwrap
from argparse import SUPPRESS, Namespace
from collections.abc import Callable
from typing import Any, NoReturn

from tformer_lite.commands import options, teaching
from tformer_lite.commands.checking import check_model
from tformer_lite.commands.learning.translators import train_translate
from tformer_lite.commands.learning.writers import train_char
from tformer_lite.commands.options import FLAG, OPTIONS
from tformer_lite.commands.session import PROGRAM
from tformer_lite.commands.trace import show_trace
from tformer_lite.commands.translating import translate
from tformer_lite.commands.writing import write

# What to try: the words that follow a command's name.
TO_TRY = {
    "": [
        "train char book.txt",
        "generate 'Once upon'",
        "train translate",
        "translate 'this is not my book.'",
        "trace",
        "check my_model.py:make",
        "classroom list",
    ],
    "train": ["char book.txt --minutes 5", "translate --resume"],
    "train char": [
        "book.txt --minutes 10",
        "book.txt --num_layers 6 --steps 5000",
        "book.txt --resume --minutes 10",
        "book.txt --as-in-source",
    ],
    "train translate": ["", "pairs.tsv --max_len 12 --d_model 48"],
    "generate": [
        "",
        "'Once upon' --top_k 20 --num_samples 3",
        "'Once upon' --greedy --model my_model.py:make",
    ],
    "translate": [
        "'this is not my book.' 'we bought flowers.'",
        "'we bought flowers.' --heatmap looks.png",
        "--ckpt translator.pt --beam 4 < english.txt",
    ],
    "trace": [
        "",
        "--path decoder.blocks.0.cross_attention",
        "--preset char_lm --calls --json trace.json",
    ],
    "check": [
        "my_package.my_module:make",
        "path/to/file.py:make --pad 0 --positions 8",
        "bert.py:make --no-causal --output logits",
        "t5.py:make --expect 'score_scale=as in T5'",
    ],
    "classroom": ["list", "assign 5 7", "grade submissions"],
    "classroom list": ["", "--chapter 7"],
    "classroom assign": ["5 7", "dealt_out 7 --points 5 --seed autumn"],
    "classroom grade": ["submissions", "submissions --roster canvas.csv"],
    "classroom gradescope": ["", "--assignment week.json"],
}
# What stands in a command without a sign, how often, and what it is.
TEXT = "a text, in UTF-8; with --resume, the one it began with"
PAIRS = "pairs: a sentence, a tab and its translation on each line"
PROMPT = "the text to go on with; asked for when it is left out"
SENTENCES = "a sentence, in quotes; without any, the lines of stdin"
EXERCISES = "a name, or a chapter's number for those without a solution"
FACTORY = (
    "module:function or file.py:function; it gives (model, inputs), "
    "(model, a dictionary), or a model of this module"
)
WORDS = {
    "train char": ("path", "?", TEXT),
    "train translate": ("path", "?", PAIRS),
    "generate": ("prompt", "?", PROMPT),
    "translate": ("sentences", "*", SENTENCES),
    "check": ("factory", None, FACTORY),
    "classroom assign": ("exercises", "+", EXERCISES),
    "classroom grade": ("folder", None, "the students' notebooks"),
}
# The functions, whose docstrings are what --help says, and their defaults.
RUNS: dict[str, tuple[Callable[[Namespace], int | None], dict[str, Any]]] = {
    "train char": (train_char, options.CHAR),
    "train translate": (train_translate, options.TRANSLATE),
    "generate": (write, options.WRITING),
    "translate": (translate, options.TRANSLATING),
    "trace": (show_trace, options.TRACING),
    "check": (check_model, options.CHECKING),
    "classroom list": (teaching.list_exercises, options.LISTING),
    "classroom assign": (teaching.assign, options.ASSIGNING),
    "classroom grade": (teaching.grade, options.GRADING),
    "classroom gradescope": (teaching.pack, options.PACKING),
}
ABOUT = {name: str(run.__doc__) for name, (run, _) in RUNS.items()}
ABOUT[""] = "Train a small Transformer, use it, and see its shapes."
GROUPS = {
    "train": "Train a model from the start, or go on with --resume.",
    "classroom": "Hand exercises out, and grade what comes back.",
}
ABOUT |= GROUPS
SHAPES = {None: "{}", "?": "[{}]", "*": "[{}...]", "+": "{}..."}
TORCHRUN = "torchrun --nproc-per-node 2 -m tformer_lite"


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where help is."""
        self.exit(2, f"tformer_lite: {message}; see {self.prog} --help\n")


def read(argv: list[str] | None = None) -> Namespace:
    """Read a command and its options; --as-in-source gives many of them.

    `run` is the function to call, `given` has the options that were typed.
    """
    given = vars(commands().parse_args(argv))
    defaults = given.pop("defaults")
    if given.get("as_in_source"):
        defaults = laid_over(defaults, options.AS_IN_SOURCE)
    return Namespace(**laid_over(defaults, given), given=given)


def laid_over(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """Lay options over others: of the times to train for, one alone stays."""
    others = options.TIMES if newer.keys() & set(options.TIMES) else ()
    return older | dict.fromkeys(others) | newer


def commands() -> Parser:
    """Describe every command, and those within a group of them."""
    top = Parser(prog=PROGRAM, **help_texts(""))
    every = top.add_subparsers(metavar="COMMAND", required=True)
    groups = {"": every}
    for name in GROUPS:
        kinds = add_command(every, name, "KIND ...")
        groups[name] = kinds.add_subparsers(metavar="KIND", required=True)
    for name, (run, defaults) in RUNS.items():
        word, nargs, about = WORDS.get(name, ("", None, ""))
        sign = word.upper().rstrip("S")
        usage = f"[OPTION...] {SHAPES[nargs].format(sign)}".rstrip()
        group = groups[name.rpartition(" ")[0]]
        parser = add_command(group, name, usage)
        if word:
            parser.add_argument(word, metavar=sign, nargs=nargs, help=about)
        add_options(parser, defaults)
        left_out = {keyword(name): value for name, value in defaults.items()}
        parser.set_defaults(run=run, defaults=left_out)
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
    """Add options, as `--d_model 128`, that are left out unless typed; those
    of a model and of its recipe stand in groups of their own."""
    times = parser.add_mutually_exclusive_group()
    groups: dict[str | None, Any] = {None: parser}
    groups |= dict.fromkeys(options.TIMES, times)
    for name, default in defaults.items():
        title = group_of(name)
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        how, text = OPTIONS[name]
        if default is not None and how is not FLAG:
            shown = default if isinstance(default, tuple) else [default]
            text += f" (default: {' '.join(map(str, shown))})"
        sign = f"--{name.split()[-1]}"
        groups[title].add_argument(sign, default=SUPPRESS, help=text, **how)


def group_of(name: str) -> str | None:
    """Say under which title an option stands: a time to train for, under its
    own name."""
    if name in options.TIMES:
        return name
    if name in options.MODEL or name in options.ROWS:
        return "the model"
    learning = name in options.TRAINING
    return "how it learns" if learning else None


def keyword(name: str) -> str:
    """Write an option's name as Python reads it."""
    return name.split()[-1].replace("-", "_")
