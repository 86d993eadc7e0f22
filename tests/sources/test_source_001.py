"""The building blocks against source 001, class by class."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers import source_001
from tests.helpers.weights import copied, count, in_doubles, shaken
from tformer_lite import (
    Block,
    EncoderDecoder,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    UnbiasedNorm,
    building_blocks,
)

B, T, S, H, C, F, V = 2, 5, 6, 3, 12, 20, 11
SOURCES_NORM = partial(UnbiasedNorm, eps=1e-6)
doubles = pytest.fixture(autouse=True)(in_doubles)


def equal(mine, theirs, atol=1e-12) -> None:
    assert_close(mine, theirs, atol=atol, rtol=0)


def test_the_embedding_is_the_sources():
    mine = TokenEmbedding(V, C)
    theirs = copied(mine, source_001.Words(V, C), {"weight": "table.weight"})
    ids = torch.arange(V)[None]
    equal(mine(ids), theirs(ids))


def test_the_positions_are_the_sources():
    """As far as the source's single precision carries: 50 positions."""
    x = torch.randn(B, 50, C)
    theirs = source_001.Places(C, 0.1).eval()
    equal(SinusoidalPositions(5000, C)(x), theirs(x), 1e-5)


def check_formula(d_model):
    table = SinusoidalPositions(building_blocks.max_len, d_model).table
    assert table.shape == (5000, d_model)
    for position in (0, 1, 2, 63, 199, 1024, 2500, 4998, 4999):
        for channel in range(d_model):
            i = channel // 2
            wave = math.cos if channel % 2 else math.sin
            value = wave(position / 10000 ** (2 * i / d_model))
            here = table[position, channel].item()
            assert abs(here - value) < 1e-6, (position, channel)


@pytest.mark.parametrize("d_model", [12, 512, 7, 1])
def test_the_table_is_the_formula_up_to_position_4999(d_model):
    check_formula(d_model)


@pytest.mark.parametrize("d_model", [12, 512, 7])
def test_the_table_is_the_formula_in_single_precision_too(d_model):
    torch.set_default_dtype(torch.float32)
    check_formula(d_model)


def test_the_sources_own_table_strays_where_ours_does_not():
    """Single precision: 0.0001 away at 12 channels, 0.0004 at 512."""
    theirs = source_001.Places(C, 0.1).waves[0]
    apart = (SinusoidalPositions(5000, C).table - theirs).abs().max().item()
    assert 1e-5 < apart < 1e-3


def attentions(dropout=0.0):
    mine = shaken(MultiHeadAttention(C, H, bias=True, dropout=dropout))
    return mine, copied(mine, source_001.Heads(C, H, dropout))


def test_self_and_cross_attention_are_the_sources():
    mine, theirs = attentions()
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    equal(mine(x), theirs(x, x, x))
    equal(mine(x, source), theirs(x, source, source))


def test_masked_attention_is_the_sources_where_a_row_may_attend():
    mine, theirs = attentions()
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    mask = torch.rand(B, 1, T, S) > 0.6
    mask[..., 0] = True
    assert not mask.all()
    equal(mine(x, source, mask), theirs(x, source, source, mask))


def test_a_row_that_may_not_attend_is_uniform_there_and_zero_here():
    mine, theirs = attentions()
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    mask = torch.ones(B, 1, T, S, dtype=torch.bool)
    mask[0, :, 2] = False
    here, there = mine(x, source, mask), theirs(x, source, source, mask)
    mean = mine.output(mine.value(source).mean(1))
    equal(there[0, 2], mean[0])
    equal(here[0, 2], mine.output.bias)
    rest = [0, 1, 3, 4]
    equal(here[0, rest], there[0, rest])
    equal(here[1], there[1])


def test_the_feed_forward_layer_is_the_sources():
    mine = shaken(FeedForward(C, F))
    x = torch.randn(B, T, C)
    equal(mine(x), copied(mine, source_001.Bend(C, F, 0.0))(x))


def test_the_norm_is_the_sources():
    mine = shaken(SOURCES_NORM(C))
    theirs = copied(mine, source_001.Norm(C))
    for scale in (1, 1e-5):  # where eps = 1e-6 weighs
        x = torch.randn(B, T, C) * scale
        equal(mine(x), theirs(x))


def test_the_block_is_the_sources():
    config = replace(building_blocks, d_model=C, d_ff=F, n_heads=H)
    mine = shaken(Block(replace(config, norm=SOURCES_NORM, dropout=0.0)))
    theirs = source_001.Block(C, H, F, 0.0)
    theirs = copied(mine, theirs, {r"norms\.(\d)": r"skips.\1.norm"})
    x, mask = torch.randn(B, T, C), torch.ones(1, 1, T, T).bool().tril()
    equal(mine(x, mask), theirs(x, mask))


def test_the_preset_runs_as_a_whole_at_the_sources_length():
    assert building_blocks.max_len == 5000
    config = replace(building_blocks, n_layers=1)
    model = EncoderDecoder(config).eval()
    src, tgt = torch.randint(2, 1024, (2, 7)), torch.randint(2, 1024, (2, 4))
    assert model.src_embedding.positions.table.shape == (5000, 512)
    logits = model(src, tgt)
    assert logits.shape == (2, 4, 1024)
    assert logits.isfinite().all()


def test_the_presets_parameters_are_pytorchs_and_the_formulas():
    c, f, n, v = 512, 2048, 6, 1024
    attention, bend, norm = 4 * (c * c + c), 2 * c * f + f + c, 2 * c
    stacks = n * (3 * attention + 2 * bend + 5 * norm) + 2 * norm
    with torch.device("meta"):
        mine = EncoderDecoder(building_blocks)
        theirs = nn.Transformer(c, 8, n, n, f, batch_first=True)
    assert count(theirs) == stacks
    assert count(mine) == stacks + 2 * v * c + c * v + v == 45_714_432
