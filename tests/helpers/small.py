"""The five presets at a size that a test can afford, and rows of ids."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import tformer_lite
from tformer_lite import Config, DecoderOnly, EncoderDecoder

NAMES = (
    "tiny_translator",
    "char_lm",
    "paper_base",
    "building_blocks",
    "bert_window",
)
presets = pytest.mark.parametrize("name", NAMES)


def preset(name: str, **changes) -> Config:
    """A preset; without BERT, which has tests of its own."""
    config = getattr(tformer_lite, name)
    if config.src_embedding == "bert":
        config = replace(config, src_embedding="scaled", src_positions=None)
    return replace(config, **changes)


def small(name: str, **changes) -> Config:
    """A preset with its choices, and with sizes of a few."""
    sizes = {"vocab_size": 11, "max_len": 8, "d_ff": 24}
    sizes |= {"d_model": 12, "n_heads": 3, "n_layers": 2}
    if preset(name).src_vocab_size:
        sizes["src_vocab_size"] = 10
    return preset(name, **(sizes | changes))


def build(kind: type, config: Config, seed: int = 0) -> nn.Module:
    """A model in double precision, without dropout."""
    torch.manual_seed(seed)
    return kind(config).double().eval()


def kind_of(name: str) -> type:
    """The model that a preset is for."""
    return DecoderOnly if name == "char_lm" else EncoderDecoder


def score(model: nn.Module, src: Tensor, tgt: Tensor) -> Tensor:
    """The logits of either kind of model."""
    return model(tgt) if isinstance(model, DecoderOnly) else model(src, tgt)


def words(size: int, rows: int, length: int, seed: int = 0) -> Tensor:
    """Random ids of real words: neither 0 nor 1, so no padding."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, size, (rows, length), generator=generator)


def other(ids: Tensor, size: int) -> Tensor:
    """Another real word in each place."""
    return (ids - 1) % (size - 2) + 2
