"""The command `train char`: a model that writes."""

from argparse import Namespace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import torch

from tformer_lite.commands.fitting import (
    announce,
    check_sizes,
    fit,
    sized_config,
    typed_recipe,
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
from tformer_lite.example.running import seeded_model
from tformer_lite.model.config import char_lm
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# Source 002's optimizer: Adam, which clips nothing.
ADAM: dict[str, Any] = {"betas": (0.9, 0.999), "clip": float("inf")}
LENGTH = 100  # characters of the sample


def train_char(args: Namespace) -> None:
    """Train a model on a text, character by character, and let it write."""
    with joined_processes(args.device) as device:
        text = read_text(args.path)
        old = unfinished_training(args)
        if old:
            model, tokenizer, size = writer_in(old, args.save_path)
            check_sizes(args, model.config, size)
        else:
            tokenizer, size = CharTokenizer(text), args.block_size
        ids = tokenizer.encode(text)
        data, valid = split_text(ids, size, args.train_split)
        recipe = typed_recipe(args, len(data), old, **ADAM)
        trainer = old or new_writer(args, tokenizer, recipe)
        trainer.recipe = recipe
        trainer.model.to(device)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer, device, f"Loaded corpus with {count}")
        fit(trainer, data, valid, Path(args.save_path))
        if processes()[1] == 0:
            demonstrate(trainer, args)


def new_writer(
    args: Namespace, tokenizer: CharTokenizer, recipe: Recipe
) -> Trainer:
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
    config = sized_config(char_lm, args, vocab_size=len(tokenizer))
    model = seeded_model(DecoderOnly, config, args.seed)
    return Trainer(model, recipe, (tokenizer,), size)


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
