"""The tiny translator at any sizes, to be traced."""

from dataclasses import replace

import torch

from tformer_lite import EncoderDecoder, tiny_translator

DIMS = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": "H*D"}


def translator(B, S, T, H, D):
    """The tiny translator at any sizes, and ids for it."""
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
    model = EncoderDecoder(replace(tiny_translator, max_len=16, **sizes))
    ids = [torch.randint(2, 1024, (B, n)) for n in (S, T)]
    return model.eval(), ids
