"""A command's processes, what it says, and the models that it reads."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import torch
from torch import distributed
from tqdm import tqdm

from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint
from tformer_lite.training.trainer import Trainer

PROGRAM = "python -m tformer_lite"
# The command that a model is for, and the tokenizers that it needs there.
USES: dict[type, tuple[str, tuple]] = {
    DecoderOnly: ("generate", ((CharTokenizer, WordTokenizer),)),
    EncoderDecoder: ("translate", (WordTokenizer, WordTokenizer)),
}


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
    if processes()[1] == 0:
        stream = stream or sys.stdout
        with tqdm.external_write_mode(stream):
            print(text, file=stream, flush=True)


def warn(text: str) -> None:
    """Print a line to stderr, as `say` does."""
    say(text, sys.stderr)


def parts_in(
    kept: Checkpoint | Trainer, path: str, command: str
) -> tuple[Any, Any, Any]:
    """Give a model, its tokenizers, and how many positions it was trained on;
    ValueError where `path` keeps none for the command."""
    use, kinds = USES[type(kept.model)]
    if use != command:
        raise ValueError(
            f"{path} holds a model for `{use}`, and here one for `{command}` "
            "is needed."
        )
    words = kept.tokenizers
    if len(words) != len(kinds) or not all(map(isinstance, words, kinds)):
        raise ValueError(
            f"{path} holds a model without its vocabulary: save it with its "
            "tokenizers."
        )
    return kept.model, words, kept.block_size
