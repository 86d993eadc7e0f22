"""The command `trace`: the shapes of a preset."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from tformer_lite.commands.session import say
from tformer_lite.example.running import SEED, built, running_dims
from tformer_lite.model.config import (
    Config,
    building_blocks,
    char_lm,
    paper_base,
    tiny_translator,
)
from tformer_lite.model.models import DecoderOnly
from tformer_lite.tracing import print_shapes, trace

PRESETS = {
    "tiny_translator": tiny_translator,
    "building_blocks": building_blocks,
    "char_lm": char_lm,
    "paper_base": paper_base,
}


def show_trace(args: argparse.Namespace) -> None:
    """Print the shapes of a preset: of its modules, or of its calls."""
    build, dims = subject(args.preset)
    sizes = dims | {"C": dims["H"] * dims["D"]}
    named = ", ".join(f"{name}={size}" for name, size in sizes.items())
    say(f"{args.preset}: {named}")
    if args.json or args.calls or args.path:
        show_calls(args, build, dims)
    else:
        show_modules(build, dims)


def show_calls(args: argparse.Namespace, build: Callable, dims: dict) -> None:
    """Print every torch call, or those in a module; write them as JSON."""
    with torch.no_grad():
        seen = trace(build=build, dims=dims)
    if args.json:
        Path(args.json).write_text(seen.to_json(), "utf8")
        say(f"Trace saved to {args.json}")
    if args.path:
        say(str(within(seen, args.path)))
    elif args.calls:
        say(str(seen))


def show_modules(build: Callable, dims: dict) -> None:
    """Print each module as it runs."""
    sizes = {name: dims[name] for name in "BSTHDFV" if name in dims}
    model, inputs = build(**sizes)
    options = {"build": build, "dims": dims}
    with torch.no_grad(), print_shapes(model, **options):
        model(*inputs)


def within(seen, path: str):
    """Choose the calls in a module; ValueError when it has none."""
    try:
        return seen.at(path)
    except KeyError as error:
        raise ValueError(error.args[0]) from None


def subject(name: str) -> tuple[Callable, dict]:
    """Give what builds a preset at any sizes, and its own sizes.

    Translators read the running example, and have its vocabulary; the
    character model reads as many characters of any kind.
    """
    config = PRESETS[name]
    if config is char_lm:
        dims = running_dims(config)
        del dims["S"]
        return partial(writer, config), dims
    words = {"vocab_size": tiny_translator.vocab_size}
    config = replace(config, **words, src_vocab_size=None)
    return partial(built, config), running_dims(config)


def writer(config: Config, B: int, T: int, H: int, D: int, F: int, V: int):
    """Build a model that writes, at any sizes, and ids for it: (B, T)."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": F, "vocab_size": V}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = DecoderOnly(replace(config, **sizes)).eval()
        return model, (torch.randint(V, (B, T)),)
