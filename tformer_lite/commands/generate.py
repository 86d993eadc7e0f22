"""The command `generate`: a text that goes on."""

import argparse
import sys

import torch
from torch import nn

from tformer_lite.commands.session import composed, opened, say, warn
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.models import DecoderOnly
from tformer_lite.training.checkpoints import Checkpoint


def write(args: argparse.Namespace) -> None:
    """Load a model, and print texts that begin with the prompt."""
    kept = opened(args.ckpt, DecoderOnly)
    shorten(kept.model, args.context or kept.block_size)
    ids = encoded(asked() if args.prompt is None else args.prompt, kept)
    numbers = torch.Generator()
    numbers.seed() if args.seed is None else numbers.manual_seed(args.seed)
    how = args.temperature, args.top_k, args.top_p
    sampler = Sampler(*how, generator=numbers)
    rows = ids.repeat(args.num_samples, 1)
    rows = generate(kept.model, rows, args.max_new_tokens, sampler)
    for number, row in enumerate(rows, 1):
        if args.num_samples > 1:
            say(f"---- Sample {number} ----")
        say(kept.tokenizers[0].decode(row))


def asked() -> str:
    """Ask for a prompt, or read it when nobody is there to be asked."""
    question = "Enter prompt text: " if sys.stdin.isatty() else ""
    try:
        return input(question)
    except EOFError:
        raise ValueError("there is no prompt: give one, in quotes.") from None


def encoded(prompt: str, kept: Checkpoint) -> torch.Tensor:
    """Look up a prompt: -> (T). Characters without an id are left out, with
    a warning each."""
    (tokenizer,) = kept.tokenizers
    prompt = composed(prompt)
    for character in dict.fromkeys(prompt):
        if character not in tokenizer.ids:
            warn(
                f"[WARN] Character {character!r} not in vocabulary. Skipping."
            )
    known = tokenizer.known(prompt)
    if not known:
        raise ValueError(
            f"no character of the prompt {prompt!r} is in the vocabulary: "
            f"{''.join(tokenizer.ids)!r}"
        )
    return tokenizer.encode(known)


def shorten(model: nn.Module, size: int) -> None:
    """Let a model read `size` tokens at a time: positions that were never
    trained say nothing. ValueError when it has fewer."""
    table = getattr(model.embedding.positions, "table", None)
    if table is not None and size > len(table):
        raise ValueError(
            f"--context {size}: the model has {len(table)} positions, and "
            "reads no more characters at a time."
        )
    if table is not None:
        table.data = table.data[:size]
