"""A command's processes, what it says, and the models that it reads."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import torch
from torch import distributed, nn
from tqdm import tqdm

from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint
from tformer_lite.training.trainer import Trainer

PROGRAM = "python -m tformer_lite"
USES: dict[type[nn.Module], str] = {
    DecoderOnly: "generate",
    EncoderDecoder: "translate",
}


@contextmanager
def joined_processes(name: str) -> Iterator[torch.device]:
    """Find the device; join the other processes, if torchrun started any,
    and leave them in the end."""
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


def unfit_line(
    kept: Checkpoint | Trainer, path: str, kind: type[nn.Module]
) -> str:
    """Say what a command misses in a checkpoint."""
    if isinstance(kept.model, kind):
        return (
            f"{path} holds a model without its vocabulary: save it with its "
            "tokenizers."
        )
    return (
        f"{path} holds a model for `{USES[type(kept.model)]}`, and here one "
        f"for `{USES[kind]}` is needed."
    )
