"""Our presets and parts with a source's weights: they give its numbers."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from tests.helpers import source_000
from tests.helpers import sources_001_002 as others
from tests.helpers.sources import (
    MODELS,
    SRC,
    TGT,
    both,
    drawn,
    masked,
    same_numbers,
)
from tests.helpers.weights import copied, count, in_doubles, outputs, shaken
from tformer_lite import (
    Block,
    DecoderOnly,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    UnbiasedNorm,
    building_blocks,
    causal_mask,
    char_lm,
    dot_product_attention,
    padding_mask,
)
from tformer_lite.model.models import InputEmbedding

B, T, S, H, C, F, V = 2, 5, 6, 3, 12, 20, 11
doubles = pytest.fixture(autouse=True)(in_doubles)

# --- Whole models ---------------------------------------------------------

EVERY = torch.arange(1024).view(128, 8)


@pytest.mark.parametrize(
    ("src", "tgt"),
    [(SRC, TGT), (SRC[:, :6], TGT[:, :5]), (SRC[:, :1], TGT), (EVERY, EVERY)],
    ids=["whole", "shorter", "one word", "every row of the tables"],
)
def test_the_tiny_translator_is_source_000s(src, tgt):
    mine, theirs = both("000")
    logits = theirs(*masked(src, tgt))
    assert logits.shape == (*tgt.shape, 1024)
    same_numbers(mine(src, tgt), logits)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(("002", (3, length)) for length in (1, 32, 64)),
        ("003", (1, 40)),
        pytest.param("003, full size", (1, 24), marks=pytest.mark.slow),
    ],
)
def test_the_whole_model_is_the_sources(name, shape):
    mine, theirs = both(name)
    ids = drawn(name, *shape)
    logits = theirs(*ids)
    assert logits.shape == (*shape, MODELS[name].ids[-1][1])
    same_numbers(mine(*ids), logits)


@pytest.mark.parametrize("characters", [28, 65])
def test_char_lm_has_273_408_parameters_and_256_for_each_character(characters):
    printed = {28: 280_576, 65: 290_048}[characters]
    assert printed == 273_408 + 256 * characters
    mine = DecoderOnly(replace(char_lm, vocab_size=characters))
    assert count(mine) == count(others.CharacterModel(characters)) == printed


# --- Parts ----------------------------------------------------------------


def test_the_embedding_is_the_sources():
    mine = TokenEmbedding(V, C)
    theirs = copied(mine, others.Words(V, C), {"weight": "table.weight"})
    ids = torch.arange(V)[None]
    same_numbers(mine(ids), theirs(ids))


def test_the_positions_are_the_sources():
    """As far as its single precision carries: 50 positions. Later they are
    0.0001 away at 12 channels, 0.0004 at 512."""
    x = torch.randn(B, 50, C)
    mine, theirs = SinusoidalPositions(5000, C), others.Places(C, 0.1)
    same_numbers(mine(x), theirs.eval()(x), 1e-5)
    apart = (mine.table - theirs.waves[0]).abs().max().item()
    assert 1e-5 < apart < 1e-3


def test_masked_attention_is_the_sources_but_for_rows_without_keys():
    """Such a row is uniform there, and zero here."""
    mine = shaken(MultiHeadAttention(C, H, bias=True))
    theirs = copied(mine, others.Heads(C, H))
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    some = torch.rand(B, 1, T, S) > 0.6
    some[..., 0] = True
    for mask in (some, None):
        same_numbers(mine(x, source, mask), theirs(x, source, source, mask))
    some[0, :, 2] = False
    here, there = mine(x, source, some), theirs(x, source, source, some)
    same_numbers(there[0, 2], mine.output(mine.value(source).mean(1))[0])
    same_numbers(here[0, 2], mine.output.bias)
    rest = [0, 1, 3, 4]
    same_numbers(here[0, rest], there[0, rest])
    same_numbers(here[1], there[1])


SIZES_001 = {"vocab_size": V, "max_len": 50, "d_model": C, "n_heads": H}
SIZES_001 |= {"d_ff": F, "norm": partial(UnbiasedNorm, eps=1e-6)}
CONFIG_001 = replace(building_blocks, **SIZES_001)


def test_a_block_in_training_is_source_001s_draw_for_draw():
    """And so it is without training."""
    mine = shaken(Block(CONFIG_001))
    theirs = copied(mine, others.PreBlock(C, H, F, 0.1))
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 5, 3, 1, 1]])
    x, mask = torch.randn(B, T, C), padding_mask(ids, 1)
    torch.manual_seed(1)
    here = mine(x, mask)
    torch.manual_seed(1)
    same_numbers(here, theirs(x, mask))
    assert (here - mine.eval()(x, mask)).abs().max() > 0.1
    same_numbers(mine(x, mask), theirs.eval()(x, mask))


def test_dropout_comes_after_the_positions_as_in_source_001():
    x, ids = torch.randn(B, T, C), torch.randint(V, (B, T))
    here = outputs(InputEmbedding(CONFIG_001, V), ids, kind=nn.Dropout)
    there = outputs(others.Places(C, 0.1), x, kind=nn.Dropout)
    assert here == there == [("dropout", (B, T, C))]


def test_a_mask_written_into_the_scores_leaves_the_gradients_alone():
    q, k, v = torch.randn(3, 1, 3, 8, 4)

    def slope(attend):
        queries = q.clone().requires_grad_()
        with torch.enable_grad():
            total = attend(queries, k, v, causal_mask(8)).square().sum()
        return torch.autograd.grad(total, queries)[0]

    theirs = slope(lambda *args: source_000.attend(*args)[0])
    same_numbers(slope(dot_product_attention), theirs)
