"""The command `generate`: a model writes."""

import sys
from argparse import Namespace
from copy import deepcopy
from unicodedata import normalize

import torch
from torch import Tensor

from tformer_lite.commands.session import parts_in, say, warn
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.checkpoints import load_checkpoint


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
