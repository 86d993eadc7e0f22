"""The tiny translator against source 000, class by class."""

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.helpers import source_000
from tests.helpers.as_source_000 import NAMES, transposed
from tests.helpers.weights import count, in_doubles, renamed, shaken
from tformer_lite import (
    EncoderDecoder,
    causal_mask,
    padding_mask,
    running_example,
    tiny_translator,
)

# In the source the table has variance 1, and is divided by sqrt(12).
CONFIG = replace(tiny_translator, embedding="shrunk")
B, T, C = 2, 8, 12


class Case(NamedTuple):
    mine: EncoderDecoder
    theirs: source_000.Translator
    src: Tensor
    tgt: Tensor
    src_mask: Tensor
    tgt_mask: Tensor
    x: Tensor
    memory: Tensor

    def parts(self, mine: str, theirs: str):
        return self.mine.get_submodule(mine), self.theirs.get_submodule(theirs)


doubles = pytest.fixture(autouse=True)(in_doubles)


@pytest.fixture
def case() -> Case:
    mine, theirs = shaken(EncoderDecoder(CONFIG)), source_000.Translator()
    weights = mine.state_dict().items()
    theirs.load_state_dict(
        {renamed(name, NAMES): transposed(name, w) for name, w in weights}
    )
    src, tgt, *_ = running_example()
    src_mask = padding_mask(src, 1)
    tgt_mask = causal_mask(T) & padding_mask(tgt, 1)
    x, memory = torch.randn(2, B, T, C)
    return Case(mine, theirs, src, tgt, src_mask, tgt_mask, x, memory)


def equal(mine: Tensor, theirs: Tensor) -> None:
    assert_close(mine, theirs, atol=1e-12, rtol=0)


def test_tiny_translator_has_41_256_parameters_in_35_tensors():
    mine, theirs = EncoderDecoder(tiny_translator), source_000.Translator()
    assert count(mine) == count(theirs) == 41_256
    assert len(list(mine.parameters())) == len(list(theirs.parameters())) == 35


def test_the_running_example_gives_2_8_1024_logits():
    src, tgt, *_ = running_example()
    assert src.shape == tgt.shape == (2, 8)
    assert EncoderDecoder(tiny_translator)(src, tgt).shape == (2, 8, 1024)


def test_the_masks_have_the_shapes_that_the_source_needs(case):
    assert case.src_mask.shape == (2, 1, 1, 8)
    assert case.tgt_mask.shape == (2, 1, 8, 8)


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_the_embedding_is_the_sources(side, case):
    names = f"{side}_embedding.tokens", f"{side}_words"
    mine, theirs = case.parts(*names)
    ids = torch.arange(1024).view(2, 512)
    equal(mine(ids), theirs(ids))


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_the_positions_are_the_sources(side, case):
    names = f"{side}_embedding.positions", f"{side}_places"
    mine, theirs = case.parts(*names)
    for t in (1, 5, 8):
        equal(mine(case.x[:, :t]), theirs(case.x[:, :t]))


def test_the_norm_is_the_sources_and_the_presets_own(case):
    assert tiny_translator.norm == "unbiased"
    for stack in ("encoder", "decoder"):
        mine, theirs = case.parts(f"{stack}.norm", f"{stack}.norm")
        for scale in (1, 1e-6):  # where eps = 1e-7 weighs
            equal(mine(case.x * scale), theirs(case.x * scale))


def test_the_feed_forward_layer_is_the_sources(case):
    names = "encoder.blocks.0.feed_forward", "encoder.blocks.0.bend"
    mine, theirs = case.parts(*names)
    equal(mine(case.x), theirs(case.x))
    assert mine.hidden(case.x).shape == (2, 8, 48)


@pytest.mark.parametrize("mask", [None, "src_mask", "tgt_mask"])
def test_self_attention_is_the_sources(mask, case):
    names = "decoder.blocks.0.self_attention", "decoder.blocks.0.own"
    mine, theirs = case.parts(*names)
    x, mask = case.x, mask and getattr(case, mask)
    equal(mine(x, mask=mask), theirs(x, x, x, mask))


def test_cross_attention_is_the_sources(case):
    names = "decoder.blocks.0.cross_attention", "decoder.blocks.0.cross"
    mine, theirs = case.parts(*names)
    x, memory, mask = case.x[:, :5], case.memory, case.src_mask
    equal(mine(x, memory, mask), theirs(x, memory, memory, mask))


@pytest.mark.parametrize("part", ["encoder.blocks.0", "encoder"])
def test_the_encoder_and_its_block_are_the_sources(part, case):
    mine, theirs = case.parts(part, part)
    equal(mine(case.x, case.src_mask), theirs(case.x, case.src_mask))


@pytest.mark.parametrize("part", ["decoder.blocks.0", "decoder"])
def test_the_decoder_and_its_block_are_the_sources(part, case):
    mine, theirs = case.parts(part, part)
    x, memory, src_mask, tgt_mask = *case[6:], case.src_mask, case.tgt_mask
    # The source names the source's mask first.
    equal(
        mine(x, memory, tgt_mask, src_mask),
        theirs(x, memory, src_mask, tgt_mask),
    )


def test_the_projection_is_the_sources(case):
    mine, theirs = case.parts("head", "head")
    equal(mine(case.x), theirs(case.x))


def test_the_whole_model_is_the_sources(case):
    theirs = case.theirs(*case[2:6])
    assert theirs.shape == (2, 8, 1024)
    equal(case.mine(case.src, case.tgt), theirs)


def test_a_target_may_be_shorter_than_its_source(case):
    src, tgt = case.src[:, :6], case.tgt[:, :5]
    masks = case.src_mask[..., :6], case.tgt_mask[..., :5, :5]
    equal(case.mine(src, tgt), case.theirs(src, tgt, *masks))


def test_a_source_of_padding_alone_is_nan_there_and_finite_here(case):
    src = torch.ones_like(case.src)
    theirs = case.theirs(src, case.tgt, padding_mask(src, 1), case.tgt_mask)
    assert theirs.isnan().all()
    assert case.mine(src, case.tgt).isfinite().all()
