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
    RotaryAttention,
    RotaryGroupedAttention,
    cached,
    rotate,
    running_example,
    running_model,
    tiny_translator,
)
from tformer_lite.decoding.cache.models import Recomputed

NEW = ["rotary", "grouped", "rotary_grouped", "tiled"]
new = pytest.mark.parametrize("attention", NEW)
kinds = pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])


@pytest.mark.slow
@new
@kinds
@steps
def test_kept_keys_and_values_give_the_models_logits(attention, kind, steps):
    changes = {"attention": attention, "positions": "none"}
    newer = {"mask": "sliding", "feed_forward": "gated"}
    for own in ({}, newer, {"feed_forward": "mixture"}):
        model, src, tgt = prepared("paper_base", kind, **changes, **own)
        quick = cached(model)
        assert not isinstance(quick, Recomputed)
        close(grown(quick, src, tgt, steps), model(*src, tgt))


@kinds
def test_groups_of_any_size_are_kept_as_they_are(kind):
    attention = partial(RotaryGroupedAttention, n_kv_heads=2)
    own = {"attention": attention, "cross_attention": "grouped"}
    own |= {"positions": "none", "d_model": 24, "n_heads": 6}
    model, src, tgt = prepared("building_blocks", kind, **own)
    quick = cached(model)
    close(grown(quick, src, tgt, STEPS[1]), model(*src, tgt))
    kept = quick.decoder.blocks[0].self_attention
    assert kept.keys.shape == kept.values.shape == (3, 2, T, 4)
    if src:
        cross = quick.decoder.blocks[0].cross_attention
        assert cross.keys.shape == cross.values.shape == (3, 1, 6, 4)


@new
def test_rows_change_places_and_other_ids_begin_anew(attention):
    own = {"attention": attention, "positions": "none"}
    model, _, tgt = prepared("char_lm", DecoderOnly, **own)
    quick = cached(model)
    quick(tgt[:, :4])
    rows = torch.tensor([1, 1, 0])
    quick.reorder(rows)
    tgt = torch.cat((tgt[rows, :4], tgt[:, 4:]), dim=1)
    close(quick(tgt[:, :6]), model(tgt[:, :6])[:, 4:])
    close(quick(tgt.flip(1)), model(tgt.flip(1)))


def test_a_text_may_outgrow_max_len_where_there_is_no_table():
    own = {"attention": "rotary", "positions": "none"}
    model, _, tgt = prepared("char_lm", DecoderOnly, **own)
    longer = tgt.repeat(1, 5)
    assert longer.shape[1] > model.config.max_len
    quick = cached(model)
    close(quick(longer[:, :30]), model(longer[:, :30]))
    close(quick(longer), model(longer)[:, 30:])


@new
def test_attention_of_ones_own_on_top_of_it_is_computed_anew(attention):
    made = {"rotary": RotaryAttention}.get(attention, RotaryGroupedAttention)

    class Mine(made):
        """A reader's own."""

    own = {"attention": Mine, "positions": "none"}
    model, _, tgt = prepared("char_lm", DecoderOnly, **own)
    quick = cached(model)
    assert isinstance(quick, Recomputed)
    close(grown(quick, (), tgt, STEPS[0]), model(tgt))


def test_cross_attention_to_a_source_is_never_turned():
    for choice in ("attention", "cross_attention"):
        model = running_model(replace(tiny_translator, **{choice: "rotary"}))
        cross = model.decoder.blocks[0].cross_attention
        assert type(cross) is MultiHeadAttention
    config = replace(tiny_translator, attention=RotaryAttention)
    src, tgt, *_ = running_example()
    with pytest.raises(ValueError, match="cross_attention, 'split'"):
        running_model(config)(src, tgt)
    plain = running_model(replace(config, cross_attention="split"))
    named = running_model(replace(config, attention="rotary"))
    assert plain(src, tgt).equal(named(src, tgt))


def test_the_keys_that_are_kept_are_turned_already():
    config = replace(tiny_translator, attention="rotary", positions="none")
    model, example = running_model(config), running_example()
    quick = cached(model)
    for t in range(1, T + 1):
        quick(example.src, example.tgt[:, :t])
    block = model.decoder.blocks[0]
    x = block.residuals[0].norm(model.tgt_embedding(example.tgt))
    k = block.self_attention.key(x).unflatten(-1, (3, 4)).transpose(1, 2)
    kept = quick.decoder.blocks[0].self_attention.keys
    assert_close(kept, rotate(k).detach(), rtol=0, atol=1e-6)
