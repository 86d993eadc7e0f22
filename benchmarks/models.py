"""Three models of rising size, each with inputs for it."""

import torch
from torch import nn

from tformer_lite import (
    Config,
    DecoderOnly,
    EncoderDecoder,
    paper_base,
    running_example,
    tiny_translator,
)

Case = tuple[nn.Module, tuple]
# GPT-2's sizes (Radford et al., 2019, table 2): 124 million parameters, and
# 39 million for a head of its own.
gpt2_sizes = Config(
    vocab_size=50257,
    max_len=1024,
    d_model=768,
    n_heads=12,
    n_layers=12,
    d_ff=3072,
    positions="learned",
    activation="gelu_tanh",
)


def running() -> Case:
    """Translate the book's two pairs with the tiny model."""
    example = running_example()
    model = EncoderDecoder(tiny_translator)
    return model.eval(), (example.src, example.tgt)


def paper() -> Case:
    """Translate 200 ids with the paper's base model: 44 million."""
    ids = torch.randint(2, 100, (1, 200))
    return EncoderDecoder(paper_base).eval(), (ids, ids)


def gpt2() -> Case:
    """Read 128 ids with a decoder of GPT-2's sizes."""
    ids = torch.randint(0, 50257, (1, 128))
    return DecoderOnly(gpt2_sizes).eval(), (ids,)


MODELS = {
    "running example": running,
    "paper_base, 200 ids": paper,
    "GPT-2's sizes, 128 ids": gpt2,
}
