"""Caches for rotary and grouped attention: positions go on."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.testing import assert_close

from tests.helpers.growing import STEPS, T, close, grown, prepared, steps
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    MultiHeadAttention,
    cached,
    rotate,
    running_example,
    running_model,
    tiny_translator,
)
from tformer_lite.decoding.cache.models import Recomputed
from tformer_lite.model.attention import unplaced

NEW = [
    {"positions": "rotary"},
    {"n_kv_heads": 1},
    {"positions": "rotary", "n_kv_heads": 1},
    {"attention": "tiled"},
]
new = pytest.mark.parametrize("own", NEW, ids=lambda own: "-".join(own))
kinds = pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])


@pytest.mark.slow
@new
@kinds
@steps
def test_kept_keys_and_values_give_the_models_logits(own, kind, steps):
    changes = {"attention": "split"} | own
    newer = {"window": 4, "feed_forward": "gated"}
    for more in ({}, newer, {"feed_forward": "mixture"}):
        model, src, tgt = prepared("paper_base", kind, **changes, **more)
        quick = cached(model)
        assert not isinstance(quick, Recomputed)
        close(grown(quick, src, tgt, steps), model(*src, tgt))


@kinds
def test_groups_of_any_size_are_kept_as_they_are(kind):
    own = {"n_kv_heads": 2, "d_model": 24, "n_heads": 6}
    own |= {"positions": "rotary"}
    model, src, tgt = prepared("building_blocks", kind, **own)
    quick = cached(model)
    close(grown(quick, src, tgt, STEPS[1]), model(*src, tgt))
    kept = quick.decoder.blocks[0].self_attention
    assert kept.keys.shape == kept.values.shape == (3, 2, T, 4)
    if src:
        cross = quick.decoder.blocks[0].cross_attention
        assert cross.keys.shape == cross.values.shape == (3, 2, 6, 4)


@new
def test_rows_change_places_and_other_ids_begin_anew(own):
    model, _, tgt = prepared("char_lm", DecoderOnly, **own)
    quick = cached(model)
    quick(tgt[:, :4])
    rows = torch.tensor([1, 1, 0])
    quick.reorder(rows)
    tgt = torch.cat((tgt[rows, :4], tgt[:, 4:]), dim=1)
    close(quick(tgt[:, :6]), model(tgt[:, :6])[:, 4:])
    close(quick(tgt.flip(1)), model(tgt.flip(1)))


def test_a_text_may_outgrow_max_len_where_there_is_no_table():
    model, _, tgt = prepared("char_lm", DecoderOnly, positions="rotary")
    longer = tgt.repeat(1, 5)
    assert longer.shape[1] > model.config.max_len
    quick = cached(model)
    close(quick(longer[:, :30]), model(longer[:, :30]))
    close(quick(longer), model(longer)[:, 30:])


class Mine(MultiHeadAttention):
    """A reader's own."""


def placed_anew(x, start=0):
    """A place of the reader's own."""
    return rotate(x, start)


@pytest.mark.parametrize(
    "own",
    [
        {"attention": Mine, "positions": "rotary"},
        {"attention": partial(MultiHeadAttention, place=placed_anew)},
    ],
)
def test_attention_of_ones_own_is_computed_anew(own):
    model, _, tgt = prepared("char_lm", DecoderOnly, **own)
    quick = cached(model)
    assert isinstance(quick, Recomputed)
    close(grown(quick, (), tgt, STEPS[0]), model(tgt))


def test_cross_attention_to_a_source_is_never_turned():
    model = running_model(replace(tiny_translator, positions="rotary"))
    block = model.decoder.blocks[0]
    assert block.self_attention.place is rotate
    assert block.cross_attention.place is unplaced


def test_the_keys_that_are_kept_are_turned_already():
    config = replace(tiny_translator, positions="rotary")
    model, example = running_model(config), running_example()
    quick = cached(model)
    for t in range(1, T + 1):
        quick(example.src, example.tgt[:, :t])
    block = model.decoder.blocks[0]
    x = block.norms[0](model.tgt_embedding(example.tgt))
    k = block.self_attention.key(x).unflatten(-1, (3, 4)).transpose(1, 2)
    kept = quick.decoder.blocks[0].self_attention.keys
    assert_close(kept, rotate(k).detach(), rtol=0, atol=1e-6)
