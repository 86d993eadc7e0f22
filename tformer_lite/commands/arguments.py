"""What one can type: the commands, their options, and what --help says."""

from argparse import Namespace
from typing import Any

from tformer_lite.commands import options
from tformer_lite.commands.inspecting import show_trace
from tformer_lite.commands.learning.translators import train_translate
from tformer_lite.commands.learning.writers import train_char
from tformer_lite.commands.options import OPTIONS
from tformer_lite.commands.program import Command, Program, read_command
from tformer_lite.commands.session import PROGRAM
from tformer_lite.commands.translating import translate
from tformer_lite.commands.writing import write

# What to try: the words that follow a command's name.
TO_TRY = {
    "": [
        "train char book.txt",
        "generate 'Once upon'",
        "translate 'this is not my book.'",
    ],
    "train": ["char book.txt --minutes 5", "translate --resume"],
    "train char": [
        "book.txt --minutes 10",
        "book.txt --resume --steps 5000",
    ],
    "train translate": ["", "pairs.tsv --minutes 5"],
    "generate": [
        "'Once upon' --top_k 20 --num_samples 3",
        "'Once upon' --top_k 1 < prompts.txt",
    ],
    "translate": [
        "'we bought flowers.' --heatmap looks.png",
        "--ckpt translator.pt --beam 4 < english.txt",
    ],
    "trace": ["", "--preset char_lm --calls --json trace.json"],
}
# What stands in a command without a sign, how often, and what it is.
BOOK_TEXT = "a text, in UTF-8; with --resume, the one it began with"
PAIRS_TEXT = "pairs: a sentence, a tab and its translation on each line"
PROMPT_TEXT = "the text to go on with; asked for when it is left out"
SENTENCES = "a sentence, in quotes; without any, the lines of stdin"
# The functions, whose docstrings are what --help says, and their defaults.
COMMANDS = {
    "train char": Command(
        train_char, options.TRAIN_CHAR, ("path", "?", BOOK_TEXT)
    ),
    "train translate": Command(
        train_translate, options.TRAIN_TRANSLATE, ("path", "?", PAIRS_TEXT)
    ),
    "generate": Command(write, options.GENERATE, ("prompt", "?", PROMPT_TEXT)),
    "translate": Command(
        translate, options.TRANSLATE, ("sentences", "*", SENTENCES)
    ),
    "trace": Command(show_trace, options.TRACE),
}
TRAIN = (
    "Train a model from the start, or go on with --resume. Two processes "
    "share the data after `torchrun --nproc-per-node 2`, in place of python."
)
MODEL_NAMES = [*options.MODEL_OPTIONS, *options.ROW_OPTIONS]


COMMAND_LINE = Program(
    name=PROGRAM,
    about="Train a small Transformer, use it, and see its shapes.",
    commands=COMMANDS,
    options=OPTIONS,
    examples=TO_TRY,
    groups={"train": TRAIN},
    titles=dict.fromkeys(options.RECIPE_DEFAULTS, "how it learns")
    | dict.fromkeys(MODEL_NAMES, "the model"),
    rivals=options.DURATIONS,
)


def read(argv: list[str] | None = None) -> Namespace:
    """Read a command and its options; --as-in-source gives many of them.

    `run` is the function to call, `given` has the options that were typed.
    """
    typed = read_command(COMMAND_LINE, argv)
    given, defaults = typed.given, typed.defaults
    if given.get("as_in_source"):
        defaults = laid_over(defaults, options.AS_IN_SOURCE)
    return Namespace(**laid_over(defaults, given), given=given)


def laid_over(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """Lay options over others: of the times to train for, one alone stays."""
    others = options.DURATIONS if newer.keys() & set(options.DURATIONS) else ()
    return older | dict.fromkeys(others) | newer
