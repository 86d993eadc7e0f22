"""The command `train char`: a model that writes."""

import argparse

import torch

from tformer_lite.commands.fitting import (
    built,
    fit,
    left_off,
    planned,
    sized,
)
from tformer_lite.commands.generate import shorten
from tformer_lite.commands.session import (
    announce,
    composed,
    say,
    together,
    warn,
)
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import char_lm
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.loop import resume
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# Source 002's optimizer: Adam, which clips nothing.
ADAM = {"betas": (0.9, 0.999), "clip": float("inf")}
LENGTH = 100  # characters of the sample


def train_char(args: argparse.Namespace) -> None:
    """Train a model on a text, character by character, and let it write."""
    with together(args.device) as device:
        text = read_text(args.path)
        old = left_off(args, DecoderOnly)
        tokenizer = old.tokenizers[0] if old else CharTokenizer(text)
        size = old.block_size if old else args.block_size
        parts = split_text(tokenizer.encode(text), size, args.train_split)
        plan = planned(args, len(parts[0]), old)
        if old:
            trainer = resume(args.save_path, **plan)
        else:
            trainer = begun(args, tokenizer, Recipe(**plan, **ADAM))
        trainer.model.to(device)
        size = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer.model, device, f"Loaded corpus with {size}")
        fit(trainer, *parts, args)
        if processes()[1] == 0:
            demonstrate(trainer, args)


def begun(args, tokenizer: CharTokenizer, recipe: Recipe) -> Trainer:
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
    config = sized(char_lm, args, vocab_size=len(tokenizer))
    model = built(DecoderOnly, config, args.seed)
    return Trainer(model, recipe, (tokenizer,), size)


def demonstrate(trainer: Trainer, args: argparse.Namespace) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    (tokenizer,), model = trainer.tokenizers, trainer.model
    prompt = tokenizer.known(composed(args.demo))
    say("\n==== Demo generation ====")
    say(f"Prompt: {args.demo}")
    if not prompt:
        say("None of its characters is in the vocabulary: nothing to write.")
        return
    shorten(model, trainer.block_size)
    ids = tokenizer.encode(prompt)[None]
    draw = Sampler(generator=torch.Generator().manual_seed(args.seed))
    ids = generate(model.cpu(), ids, LENGTH, draw)
    say(f"Generated: {tokenizer.decode(ids[0])}")
