"""The building blocks against source 001, class by class."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers import source_001
from tests.helpers.weights import copied, count, in_doubles, outputs, shaken
from tformer_lite import (
    Block,
    EncoderDecoder,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    UnbiasedNorm,
    building_blocks,
    padding_mask,
)
from tformer_lite.model.models import InputEmbedding

B, T, S, H, C, F, V = 2, 5, 6, 3, 12, 20, 11
SOURCES_NORM = partial(UnbiasedNorm, eps=1e-6)
SIZES = {"vocab_size": V, "max_len": 50, "d_model": C, "n_heads": H}
SMALL = replace(building_blocks, **SIZES, d_ff=F, norm=SOURCES_NORM)
doubles = pytest.fixture(autouse=True)(in_doubles)


def equal(mine, theirs, atol=1e-12) -> None:
    assert_close(mine, theirs, atol=atol, rtol=0)


def test_the_embedding_is_the_sources():
    mine = TokenEmbedding(V, C)
    theirs = copied(mine, source_001.Words(V, C), {"weight": "table.weight"})
    ids = torch.arange(V)[None]
    equal(mine(ids), theirs(ids))


def test_the_positions_are_the_sources():
    """As far as its single precision carries: 50 positions. Later they are
    0.0001 away at 12 channels, 0.0004 at 512."""
    x = torch.randn(B, 50, C)
    mine, theirs = SinusoidalPositions(5000, C), source_001.Places(C, 0.1)
    equal(mine(x), theirs.eval()(x), 1e-5)
    apart = (mine.table - theirs.waves[0]).abs().max().item()
    assert 1e-5 < apart < 1e-3


@pytest.fixture
def attentions() -> tuple:
    mine = shaken(MultiHeadAttention(C, H, bias=True))
    return mine, copied(mine, source_001.Heads(C, H, 0.0))


def test_masked_attention_is_the_sources_where_a_row_may_attend(attentions):
    mine, theirs = attentions
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    some = torch.rand(B, 1, T, S) > 0.6
    some[..., 0] = True
    for mask in (some, None):
        equal(mine(x, source, mask), theirs(x, source, source, mask))


def test_a_row_that_may_not_attend_is_uniform_there_and_zero_here(attentions):
    mine, theirs = attentions
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


def test_the_norm_is_the_sources():
    mine = shaken(SOURCES_NORM(C))
    theirs = copied(mine, source_001.Norm(C))
    x = torch.randn(B, T, C) * 1e-5  # where eps = 1e-6 weighs
    equal(mine(x), theirs(x))


def test_a_block_in_training_is_the_sources_draw_for_draw():
    """And so it is without training."""
    mine, theirs = shaken(Block(SMALL)), source_001.Block(C, H, F, 0.1)
    copied(mine, theirs, {r"norms\.(\d)": r"skips.\1.norm"})
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 5, 3, 1, 1]])
    x, mask = torch.randn(B, T, C), padding_mask(ids, 1)
    torch.manual_seed(1)
    here = mine(x, mask)
    torch.manual_seed(1)
    equal(here, theirs(x, mask))
    assert (here - mine.eval()(x, mask)).abs().max() > 0.1
    equal(mine(x, mask), theirs.eval()(x, mask))


def test_dropout_comes_after_the_positions_as_in_the_source():
    x, ids = torch.randn(B, T, C), torch.randint(V, (B, T))
    here = outputs(InputEmbedding(SMALL, V), ids, kind=nn.Dropout)
    there = outputs(source_001.Places(C, 0.1), x, kind=nn.Dropout)
    assert here == there == [("dropout", (B, T, C))]


def test_the_presets_parameters_are_pytorchs_and_the_formulas():
    c, f, n, v = 512, 2048, 6, 1024
    attention, bend, norm = 4 * (c * c + c), 2 * c * f + f + c, 2 * c
    stacks = n * (3 * attention + 2 * bend + 5 * norm) + 2 * norm
    with torch.device("meta"):
        mine = EncoderDecoder(building_blocks)
        theirs = nn.Transformer(c, 8, n, n, f, batch_first=True)
    assert count(theirs) == stacks
    assert count(mine) == stacks + 2 * v * c + c * v + v == 45_714_432
    assert mine.src_embedding.positions.table.shape == (5000, 512)


def test_the_sources_words_drown_its_positions():
    words = source_001.Words(1024, 512)(torch.arange(1024))
    places = source_001.Places(512, 0.1).waves
    assert 1000 < words.var() / places.var() < 1130


def test_an_odd_width_and_minus_a_billion_in_half_precision_raise():
    with pytest.raises(RuntimeError, match="must match"):
        source_001.Places(7, 0.1)
    hidden = torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(2).half().masked_fill(hidden, -1e9)


@pytest.mark.filterwarnings("ignore:std")
def test_the_sources_norm_is_not_that_of_its_formula():
    def slope(norm):
        x = torch.ones(1, C, requires_grad=True)
        with torch.enable_grad():
            return torch.autograd.grad(norm(x)[0, 0], x)[0].abs().max()

    code, formula = source_001.Norm(C), nn.LayerNorm(C, 1e-6)
    x = torch.randn(B, T, C)
    equal(code(x) / formula(x), torch.full_like(x, 0.96), 0.005)
    assert slope(code) / slope(formula) == pytest.approx(1000)
    assert source_001.Norm(1)(x[..., :1]).isnan().all()
