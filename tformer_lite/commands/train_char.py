"""The command `train char`: a model that writes."""

from argparse import Namespace
from unicodedata import normalize

import torch

from tformer_lite.commands.fitting import (
    Lesson,
    fit,
    sized_config,
    unfinished_training,
)
from tformer_lite.commands.generate import shortened
from tformer_lite.commands.session import (
    joined_processes,
    say,
    warn,
    writer_in,
)
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import Config, char_lm
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint
from tformer_lite.training.trainer import Trainer

# Source 002's optimizer: Adam, which clips nothing.
ADAM = {"betas": (0.9, 0.999), "clip": float("inf")}
LENGTH = 100  # characters of the sample


def train_char(args: Namespace) -> None:
    """Train a model on a text, character by character, and let it write."""
    with joined_processes(args.device) as device:
        text = read_text(args.path)
        kept = unfinished_training(args)
        trainer = fit(characters(text, args, kept), args, kept, device)
        if processes()[1] == 0:
            demonstrate(trainer, args)


def characters(text: str, args: Namespace, kept: Checkpoint | None) -> Lesson:
    """Cut a text into windows, for the model that is kept or a new one."""
    if kept:
        _, tokenizer, size = writer_in(kept, args.save_path)
    else:
        tokenizer, size = CharTokenizer(text), args.block_size
    data, valid = split_text(tokenizer.encode(text), size, args.train_split)
    config = kept.model.config if kept else new_config(args, len(tokenizer))
    count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
    about = f"Loaded corpus with {count}"
    rest = (tokenizer,), size, DecoderOnly, config, ADAM
    return Lesson(data, valid, about, *rest)


def new_config(args: Namespace, vocab_size: int) -> Config:
    """Describe a new model; ValueError for more rows than positions."""
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
    return sized_config(char_lm, args, vocab_size=vocab_size)


def demonstrate(trainer: Trainer, args: Namespace) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    model, tokenizer, size = writer_in(trainer, args.save_path)
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
