"""The commands `trace` and `check`: the shapes of a preset, and a report on
a model of one's own, or of this module."""

from argparse import Namespace
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from shapewatch.commands import checking
from shapewatch.commands.tracing import show
from shapewatch.tracing import trace
from tformer_lite.commands.session import say
from tformer_lite.example.running import (
    example_ids,
    running_dims,
    sized_model,
)
from tformer_lite.model import config as presets
from tformer_lite.model.models import DecoderOnly, EncoderDecoder

# Translators have the words of the running example, the character model any.
PRESETS = {
    "tiny_translator": presets.tiny_translator,
    "building_blocks": presets.building_blocks,
    "char_lm": presets.char_lm,
    "paper_base": replace(
        presets.paper_base, vocab_size=1024, src_vocab_size=None
    ),
}


def show_trace(args: Namespace) -> None:
    """Print the shapes of a preset, measured while it reads the book's
    running example."""
    config = PRESETS[args.preset]
    build, dims = partial(sized_model, config), running_dims(config)
    if args.preset == "char_lm":  # it has no source
        del dims["S"]
    sizes = dims | {"C": config.d_model}
    named = ", ".join(f"{name}={size}" for name, size in sizes.items())
    say(f"{args.preset}: {named}")
    with torch.no_grad():
        show(args, trace(build=build, dims=dims))


def check_model(args: Namespace) -> int:
    """Check a model for what holds for every right one: causality, padding,
    order, gradients and more. A factory gives the model, and what it reads.
    The exit code is 1 when something is broken."""
    return checking.run_check(args, partial(with_example, pad=args.pad))


def with_example(target: str, pad: int | None = None) -> tuple[Any, tuple]:
    """Call a factory; a model of this module that comes alone reads the
    book's running example, padded with what is said to be padding."""
    model, inputs = checking.call_factory(target)
    if inputs or not isinstance(model, (DecoderOnly, EncoderDecoder)):
        return model, inputs
    own, examples = model.config.pad, []
    pad = own if pad is None else pad
    for ids in example_ids(model):  # the two ids change places
        ours, others = ids == own, ids == pad
        examples.append(ids.masked_fill(ours, pad).masked_fill(others, own))
    return model, tuple(examples)
