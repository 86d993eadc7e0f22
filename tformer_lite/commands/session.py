"""What every command needs: its processes, what it says, what somebody
types, and the models that it reads."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import StringIO, TextIOWrapper
from itertools import repeat, takewhile
from typing import Any, TextIO

import torch
from torch import distributed, nn

from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.text.tokenizers import (
    SPECIALS,
    CharTokenizer,
    WordTokenizer,
)
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint
from tformer_lite.training.trainer import Trainer

PROGRAM = "python -m tformer_lite"
# The command that a model is for, and the tokenizers that it needs there.
USES: dict[type, tuple[str, tuple]] = {
    DecoderOnly: ("generate", ((CharTokenizer, WordTokenizer),)),
    EncoderDecoder: ("translate", (WordTokenizer, WordTokenizer)),
}
SENTENCE_ENDS = (".", "!", "?", "।")
LINE_LENGTH = 1_000_000  # characters, from which on it is no line
NAMES_TO_TELL = 3  # of tensors, at most
BYTES = 0xDC00  # where Python keeps a byte that it cannot read


# --- Processes, and what they say -----------------------------------------


@contextmanager
def joined_processes(name: str) -> Iterator[torch.device]:
    """Find the device; join the processes of torchrun, if it started any."""
    device = device_of(name, int(os.environ.get("LOCAL_RANK", 0)))
    if "WORLD_SIZE" not in os.environ:
        yield device
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        distributed.destroy_process_group()


def device_of(name: str, rank: int) -> torch.device:
    """Find a device; each process has a CUDA device of its own."""
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ValueError(
            "--device cuda: PyTorch finds no CUDA device here. Leave it out "
            "to compute on the CPU."
        )
    if name == "cpu" or not there:
        return torch.device("cpu")
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line at once, above the progress bar; in the first process."""
    from tqdm import tqdm  # --help needs torch alone

    if processes()[1] == 0:
        stream = stream or sys.stdout
        with tqdm.external_write_mode(stream):
            print(text, file=stream, flush=True)


def warn(text: str) -> None:
    """Print a line to stderr, as `say` does."""
    say(text, sys.stderr)


def parts_in(
    saved: Checkpoint | Trainer, path: str, command: str
) -> tuple[Any, Any, Any]:
    """Give a model, its tokenizers, and how many positions it was trained on;
    ValueError where `path` keeps none for the command."""
    use, kinds = USES[type(saved.model)]
    if use != command:
        raise ValueError(
            f"{path} holds a model for `{use}`, and here one for `{command}` "
            "is needed."
        )
    words = saved.tokenizers
    if len(words) != len(kinds) or not all(map(isinstance, words, kinds)):
        raise ValueError(
            f"{path} holds a model without its vocabulary: save it with its "
            "tokenizers."
        )
    check_numbers(saved.model, path)
    return saved.model, words, saved.block_size


def check_numbers(model: nn.Module, path: str) -> None:
    """Raise ValueError, with their names, for weights that are NaN or
    infinite."""
    tensors = model.state_dict().items()
    wrong = [name for name, x in tensors if not x.isfinite().all()]
    names = ", ".join(wrong[:NAMES_TO_TELL])
    if more := len(wrong[NAMES_TO_TELL:]):
        names += f" and {more} more"
    if wrong:
        raise ValueError(
            f"{path} has NaN or infinity in {names}: its training went wrong. "
            "Train again with a lower --lr, or take an older copy."
        )


# --- What somebody types --------------------------------------------------


def at_terminal() -> bool:
    """Whether somebody sits there and types."""
    return sys.stdin is not None and sys.stdin.isatty()


def lines_typed(sign: str) -> Iterator[str]:
    """Read the lines of stdin, each as soon as it has come; ValueError for
    what is no text. At a terminal, ask for line after line, until one is
    empty, or Ctrl-D comes. The arrow keys bring old lines back, where Python
    has readline."""
    if at_terminal():
        with suppress(ImportError):
            import_module("readline")
        yield from takewhile(str.strip, map(ask_line, repeat(sign)))
        return
    stdin = sys.stdin or StringIO()
    if isinstance(stdin, TextIOWrapper):
        stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    while line := stdin.readline(LINE_LENGTH):
        if "\0" in line or len(line) == LINE_LENGTH:
            raise ValueError(
                "stdin is no text: give lines without a zero byte, of less "
                f"than {LINE_LENGTH:,} characters."
            )
        yield line.strip("\ufeff\r\n")


def ask_line(sign: str) -> str:
    """Ask for a line; Ctrl-D gives none, and Ctrl-C ends its line."""
    try:
        return input(sign)
    except EOFError:
        print()
        return ""
    except KeyboardInterrupt:
        print()
        raise


def check_readable(text: str) -> None:
    """Raise ValueError for a byte that is not UTF-8."""
    for char in text:
        if BYTES <= ord(char) <= BYTES + 0xFF:
            raise ValueError(
                f"the byte {ord(char) - BYTES:#04x} is not UTF-8: save the "
                "text as UTF-8."
            )


def known_words(
    text: str, vocabulary: WordTokenizer
) -> tuple[list[str], list[str]]:
    """Cut a text into words that a vocabulary has; list those it has not.

    A word without an id takes the small or large letters that have one:
    where a sentence begins, or if there is only one such form. Others
    become [UNK].
    """
    tokens, unknown, before = [], [], "."
    for word in WordTokenizer.split(vocabulary, text):
        form = known_form(word, vocabulary, before in SENTENCE_ENDS)
        tokens += vocabulary.split(form) if form else ["[UNK]"]
        unknown += [] if form else [word]
        before = word
    return tokens, [*dict.fromkeys(unknown)]


def known_form(word: str, vocabulary: WordTokenizer, first: bool) -> str:
    """Find the form of a word that has an id, or whose pieces have; "" where
    none has."""
    known = []
    for form in (word, word.lower(), word.capitalize(), word.upper()):
        pieces = vocabulary.split(form)
        if all(x in vocabulary.ids and x not in SPECIALS for x in pieces):
            known.append(form)
    if word in known or first:
        return known[0] if known else ""
    return known[0] if len({*known}) == 1 else ""
