"""The command `trace`: the shapes of a preset."""

from argparse import Namespace
from dataclasses import replace
from functools import partial

import torch

from shapewatch.commands.tracing import show
from shapewatch.tracing import trace
from tformer_lite.commands.session import say
from tformer_lite.example.running import running_dims, sized_model
from tformer_lite.model import config as presets

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
