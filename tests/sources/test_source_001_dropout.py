"""Where the building blocks drop values, against source 001."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers import source_001
from tests.helpers.recorder import outputs
from tests.helpers.weights import copied, in_doubles, shaken
from tformer_lite import Block, UnbiasedNorm, building_blocks, padding_mask
from tformer_lite.model.models import InputEmbedding

B, T, H, C, F, V = 2, 5, 3, 12, 20, 11
SMALL = replace(
    building_blocks,
    vocab_size=V,
    max_len=50,
    d_model=C,
    n_heads=H,
    n_layers=2,
    d_ff=F,
    norm=partial(UnbiasedNorm, eps=1e-6),
)


doubles = pytest.fixture(autouse=True)(in_doubles)


def blocks():
    mine = shaken(Block(SMALL))
    theirs = source_001.Block(C, H, F, SMALL.dropout)
    return mine, copied(mine, theirs, {r"norms\.(\d)": r"skips.\1.norm"})


def test_dropout_falls_where_the_source_has_it():
    """After the positions; then on weights, sum, hidden layer, sum."""
    mine, theirs = blocks()
    x, mask = torch.randn(B, T, C), torch.ones(B, 1, 1, T).bool()
    ids = torch.randint(V, (B, T))
    start = outputs(InputEmbedding(SMALL, V), ids, kind=nn.Dropout)
    there = outputs(source_001.Places(C, 0.1), x, kind=nn.Dropout)
    assert [shape for _, shape in start] == [(B, T, C)]
    assert start == there
    here = outputs(mine, x, mask, kind=nn.Dropout)
    shapes = [shape for _, shape in here]
    assert shapes == [(B, H, T, T), (B, T, C), (B, T, F), (B, T, C)]
    there = outputs(theirs, x, mask, kind=nn.Dropout)
    # One module of ours drops before both sums, two of theirs.
    once = [(re.sub(r"skips\.\d\.", "", name), s) for name, s in there]
    assert here == once


def test_each_dropout_drops_its_share_in_training_and_nothing_else():
    mine = Block(replace(SMALL, d_model=120, d_ff=200))
    drops = [m for m in mine.modules() if isinstance(m, nn.Dropout)]
    shares = []

    def note(module, args, result):
        lost = (result == 0) & (args[0] != 0)
        shares.append((lost.sum() / (args[0] != 0).sum()).item())

    for drop in drops:
        drop.register_forward_hook(note)
    x = torch.randn(20, 30, 120)
    mine(x)
    assert len(shares) == 4
    assert all(0.08 < share < 0.12 for share in shares)
    mine.eval()(x)
    assert shares[4:] == [0] * 4


def test_a_block_in_training_is_the_sources_draw_for_draw():
    mine, theirs = blocks()
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 5, 3, 1, 1]])
    x, mask = torch.randn(B, T, C), padding_mask(ids, 1)
    torch.manual_seed(1)
    here = mine(x, mask)
    torch.manual_seed(1)
    assert_close(here, theirs(x, mask), atol=1e-12, rtol=0)
    assert (here - mine.eval()(x, mask)).abs().max() > 0.1
