"""The running model: the sentence pair of the book on its way, traced."""

from dataclasses import replace
from functools import partial

import torch

from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.pair import running_example
from tformer_lite.tracing import trace
from tformer_lite.tracing.traced import Trace

SEED = 1


def running_model(config: Config = tiny_translator) -> EncoderDecoder:
    """Build the model that reads the running example: the same weights in
    every chapter, and none of the reader's random numbers used up.

    >>> running_model().head
    Head(in_features=12, out_features=1024, bias=False)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return EncoderDecoder(config).eval()


def running_trace(config: Config = tiny_translator) -> Trace:
    """Trace the running model on the running example, with the name of every
    axis proved and every value kept.

    B, S, T, H, D, F and V vary, C is H*D. Gradients are not recorded.

    >>> running_trace().attention()[0]
    attention in encoder.blocks.0.self_attention: (B, H, S, S)
    """
    dims = running_dims(config)
    with torch.no_grad():
        return trace(build=partial(built, config), dims=dims, keep=True)


def running_dims(config: Config) -> dict[str, int | str]:
    """Give the sizes of a model that reads the running example, by letter."""
    example = running_example()
    dims = dict(zip("BST", (*example.src.shape, example.tgt.shape[1])))
    dims |= {"H": config.n_heads, "D": config.d_model // config.n_heads}
    return dims | {"C": "H*D", "F": config.d_ff, "V": config.vocab_size}


def built(config: Config, B: int, S: int, T: int, H: int, D: int, F, V):
    """Build the model at any sizes, and ids for it: (B, S), (B, T); at the
    sizes of the running example, its own."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": F, "vocab_size": V}
    sized = replace(config, **sizes)
    src, tgt, *_ = running_example()
    if sized != config or (*src.shape, tgt.shape[1]) != (B, S, T):
        src, tgt = torch.randint(V, (B, S)), torch.randint(V, (B, T))
    return running_model(sized), (src, tgt)
