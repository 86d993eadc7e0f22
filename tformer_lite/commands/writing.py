"""The commands `train char` and `generate`: a model that writes."""

import sys
from argparse import Namespace
from copy import deepcopy
from dataclasses import replace
from typing import Any
from unicodedata import normalize

import torch
from torch import Tensor

from tformer_lite.commands import learning
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import char_lm
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import load_checkpoint
from tformer_lite.training.trainer import Trainer

# Source 002's optimizer: Adam, which clips nothing.
ADAM: dict[str, Any] = {"betas": (0.9, 0.999), "clip": float("inf")}
LENGTH = 100  # characters of the sample


def train_char(args: Namespace) -> None:
    """Train a model that writes character by character. The defaults are
    source 002's."""
    with joined_processes(args.device) as device:
        text = read_text(args.path)
        old = learning.unfinished_training(args, "generate")
        trainer = old or new_writer(args, CharTokenizer(text))
        parts = parts_in(trainer, args.save_path, "generate")
        _, (tokenizer,), size = parts
        data = split_text(tokenizer.encode(text), size, args.train_split)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        learning.announce(trainer, device, f"Loaded corpus with {count}")
        learning.fit(trainer, args, *data)
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
    return learning.new_trainer(args, DecoderOnly, config, *kept, **ADAM)


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


def write(args: Namespace) -> None:
    """Write more of a text, with a model of `train char`."""
    kept = load_checkpoint(args.ckpt)
    model, (tokenizer,), size = parts_in(kept, args.ckpt, "generate")
    model = shortened(model, args.context or size)
    prompt = typed_prompt() if args.prompt is None else args.prompt
    ids = prompt_ids(prompt, tokenizer)
    numbers = torch.Generator()
    numbers.seed() if args.seed is None else numbers.manual_seed(args.seed)
    sampler = Sampler(args.temperature, args.top_k, args.top_p, numbers)
    rows = ids.repeat(args.num_samples, 1)
    rows = generate(model, rows, args.max_new_tokens, sampler)
    for number, row in enumerate(rows, 1):
        if args.num_samples > 1:
            say(f"---- Sample {number} ----")
        say(tokenizer.decode(row))


def typed_prompt() -> str:
    """Ask for a prompt, or read it when nobody is there to be asked."""
    try:
        return input("Enter prompt text: " if sys.stdin.isatty() else "")
    except EOFError:
        raise ValueError("there is no prompt: give one, in quotes.") from None


def prompt_ids(prompt: str, tokenizer: CharTokenizer) -> Tensor:
    """Look up a prompt: -> (T); warn of each character that has no id."""
    prompt = normalize("NFC", prompt)  # as training texts are
    known = tokenizer.known(prompt)
    for char in dict.fromkeys(prompt):
        if char not in known:
            warn(f"[WARN] Character {char!r} not in vocabulary. Skipping.")
    if not known:
        raise ValueError(
            f"no character of the prompt {prompt!r} is in the vocabulary: "
            f"{''.join(tokenizer.ids)!r}"
        )
    return tokenizer.encode(known)


def shortened(model: DecoderOnly, size: int) -> DecoderOnly:
    """Copy a model, with its first `size` positions alone: those that were
    never trained say nothing. ValueError when it has fewer."""
    table = getattr(model.embedding.positions, "table", None)
    if table is None:  # any number can be read
        return model
    if size > len(table):
        raise ValueError(
            f"--context {size}: the model has {len(table)} positions, and "
            "reads no more characters at a time."
        )
    short = deepcopy(model)
    positions = short.embedding.positions
    positions.table.data = positions.table.data[:size]
    return short
