"""The command `train char`: a model that writes."""

from argparse import Namespace
from dataclasses import replace
from typing import Any
from unicodedata import normalize

import torch

from tformer_lite.commands.learning.course import announce, fit
from tformer_lite.commands.learning.data import text_for
from tformer_lite.commands.learning.start import (
    new_trainer,
    unfinished_training,
)
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.commands.writing import shortened
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import char_lm
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.trainer import Trainer

# Source 002's optimizer: Adam, which clips nothing.
ADAM: dict[str, Any] = {"betas": (0.9, 0.999), "clip": float("inf")}
LENGTH = 100  # characters of the sample


def train_char(args: Namespace) -> None:
    """Train a model that writes character by character. The defaults are
    source 002's."""
    with joined_processes(args.device) as device:
        old = unfinished_training(args, "generate")
        text, origin = text_for(args, old)
        trainer = old or new_writer(args, CharTokenizer(text))
        trainer.origin = origin
        parts = parts_in(trainer, args.save_path, "generate")
        _, (tokenizer,), size = parts
        data = split_text(tokenizer.encode(text), size, origin.share)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer, device, f"Loaded corpus with {count}")
        fit(trainer, args, *data)
        if processes()[1] == 0:
            demonstrate(args, *parts)


def new_writer(args: Namespace, tokenizer: CharTokenizer) -> Trainer:
    """Build the model that the options describe, to train it."""
    size, positions = args.block_size, args.max_seq_len
    if size > positions:
        raise ValueError(
            f"--block_size {size} is more than --max_seq_len {positions}: a "
            "row of a batch needs a position for each character."
        )
    if size < positions:
        warn(
            f"positions {size} to {positions - 1} are never trained, since "
            f"--block_size is {size}: `generate` leaves them out."
        )
    config = replace(char_lm, vocab_size=len(tokenizer))
    kept = (tokenizer,), size
    return new_trainer(args, DecoderOnly, config, *kept, **ADAM)


def demonstrate(
    args: Namespace, model: DecoderOnly, tokenizers: tuple, size: int
) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    (tokenizer,) = tokenizers
    prompt = tokenizer.known(normalize("NFC", args.demo))
    say("\n==== Demo generation ====")
    say(f"Prompt: {args.demo}")
    if not prompt:
        say("None of its characters is in the vocabulary: nothing to write.")
        return
    ids = tokenizer.encode(prompt)[None]
    draw = Sampler(generator=torch.Generator().manual_seed(args.seed))
    ids = generate(shortened(model.cpu(), size), ids, LENGTH, draw)
    say(f"Generated: {tokenizer.decode(ids[0])}")
