"""A command's processes, what it says, and the files it reads."""

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import distributed, nn
from tqdm import tqdm

from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint, load_checkpoint

PROGRAM = "python -m tformer_lite"
USES = {DecoderOnly: "generate", EncoderDecoder: "translate"}


@contextmanager
def together(name: str) -> Iterator[torch.device]:
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


def device_of(name: str, rank: int = 0) -> torch.device:
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


def say(text: str = "") -> None:
    """Print a line at once, above the progress bar; in the first process."""
    show(text, sys.stdout)


def warn(text: str) -> None:
    """Print a line to stderr, as `say` does."""
    show(text, sys.stderr)


def show(text: str, stream) -> None:
    """Print a line in the first process."""
    if processes()[1] == 0:
        with tqdm.external_write_mode(stream):
            print(text, file=stream, flush=True)


def opened(path: str | Path, kind: type[nn.Module]) -> Checkpoint:
    """Load a checkpoint; ValueError when it holds another kind of model, or
    no tokenizers."""
    kept = load_checkpoint(path)
    check_kind(path, kept.model, kind)
    if len(kept.tokenizers) != (2 if kind is EncoderDecoder else 1):
        raise ValueError(
            f"{path} holds a model without its vocabulary: save it with its "
            "tokenizers."
        )
    return kept


def check_kind(path: str | Path, model: nn.Module, kind: type) -> None:
    """Raise ValueError for a model of another kind."""
    if not isinstance(model, kind):
        raise ValueError(
            f"{path} holds a model for `{USES[type(model)]}`, and here one "
            f"for `{USES[kind]}` is needed."
        )


def announce(model: nn.Module, device: torch.device, data: str) -> None:
    """Say where a model is trained, on what, and how large it is."""
    count = processes()[0]
    several = f" ({count} processes)" if count > 1 else ""
    say(f"Using device: {device}{several}")
    say(data)
    say(f"Model parameters: {sum(p.numel() for p in model.parameters()):,}")


def composed(text: str) -> str:
    """Write letters that can be written in two ways in one, as training
    texts are (Unicode's NFC)."""
    return unicodedata.normalize("NFC", text)
