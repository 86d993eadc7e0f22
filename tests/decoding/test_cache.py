"""A model that keeps keys and values gives what the model itself gives."""

import pytest
import torch
from torch.testing import assert_close

from tests.helpers.growing import (
    STEPS,
    T,
    close,
    every_model,
    grown,
    prepared,
    steps,
)
from tests.helpers.small import NAMES
from tformer_lite import EncoderDecoder, cached
from tformer_lite.decoding.cache.models import Recomputed


@pytest.mark.slow
@every_model
@steps
def test_logits_are_those_of_the_model(name, kind, steps):
    model, src, tgt = prepared(name, kind)
    quick = cached(model)
    assert not isinstance(quick, Recomputed)
    close(grown(quick, src, tgt, steps), model(*src, tgt))


@pytest.mark.slow
@every_model
def test_in_single_precision_they_agree_to_five_digits(name, kind):
    model, src, tgt = prepared(name, kind)
    model = model.float()
    mine = grown(cached(model), src, tgt, STEPS[1])
    assert_close(mine, model(*src, tgt).detach(), atol=1e-5, rtol=0)


@pytest.mark.slow
@every_model
def test_only_new_positions_are_computed(name, kind):
    model, src, tgt = prepared(name, kind)
    quick, seen = cached(model), []
    for block in quick.decoder.blocks:
        block.feed_forward.register_forward_hook(
            lambda _module, args, _out: seen.append(args[0].shape[1])
        )
    for end in (3, 4, 5, 7):
        assert quick(*src, tgt[:, :end]).shape[1] == seen[-1]
    assert seen == [3, 3, 1, 1, 1, 1, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_source_of_padding_alone_gives_what_the_model_gives(name):
    """Nobody to attend to: zeros from both, not nan."""
    model, (src,), tgt = prepared(name, EncoderDecoder)
    src[1] = model.pad
    close(grown(cached(model), (src,), tgt, STEPS[1]), model(src, tgt))


def test_a_source_is_read_once():
    model, src, tgt = prepared("building_blocks", EncoderDecoder)
    quick, calls = cached(model), []
    cross = quick.decoder.blocks[0].cross_attention
    for part in (quick.encoder, cross.key, cross.value):
        part.register_forward_hook(lambda *_: calls.append(1))
    grown(quick, src, tgt, STEPS[0])
    assert len(calls) == 3
    memory = quick.encode(*src)
    for end in range(1, 5):
        quick.decode(tgt[:, :end], memory, *src)
    assert len(calls) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_decode_goes_on_as_forward_does(name):
    model, (src,), tgt = prepared(name, EncoderDecoder)
    quick = cached(model)
    memory = quick.encode(src)
    close(memory, model.encode(src))
    ends = range(1, T + 1)
    mine = [quick.decode(tgt[:, :end], memory, src) for end in ends]
    close(torch.cat(mine, dim=1), model(src, tgt))


@pytest.mark.slow
@every_model
def test_rows_change_places(name, kind):
    """As in a beam: rows with one source take each other's texts."""
    model, src, tgt = prepared(name, kind)
    src = tuple(x[[0, 0, 0, 1, 1]] for x in src)
    tgt = tgt[[0, 1, 2, 0, 1]]
    rows = torch.tensor([1, 1, 0, 3, 3])
    quick = cached(model)
    quick(*src, tgt[:, :4])
    quick.reorder(rows)
    tgt = torch.cat((tgt[rows, :4], tgt[:, 4:]), dim=1)
    close(quick(*src, tgt[:, :5]), model(*src, tgt[:, :5])[:, 4:])
    quick.reorder(torch.tensor([0, 2, 1, 4, 3]))
    tgt = tgt[[0, 2, 1, 4, 3]]
    close(quick(*src, tgt), model(*src, tgt)[:, 5:])


def test_rows_with_different_sources_do_not():
    model, src, tgt = prepared("paper_base", EncoderDecoder)
    quick = cached(model)
    quick(*src, tgt[:, :4])
    with pytest.raises(ValueError, match=r"rows=\[1, 0, 2\] .* same one"):
        quick.reorder(torch.tensor([1, 0, 2]))
    close(quick(*src, tgt), model(*src, tgt)[:, 4:])
