"""When a cached model begins anew, and what it leaves as it was."""

import pytest
import torch

from tests.helpers.growing import STEPS, close, every_model, grown, prepared
from tformer_lite import DecoderOnly, EncoderDecoder, cached
from tformer_lite.decoding.cache.attention import Cache


@pytest.mark.slow
@every_model
def test_ids_that_do_not_go_on_begin_anew(name, kind):
    model, src, tgt = prepared(name, kind)
    quick = cached(model)
    other = tgt.clone()
    other[0, 0] = 5
    for ids in (tgt[:, :5], tgt[:, :5], tgt[:, :3], other, tgt[:2]):
        here = tuple(x[: len(ids)] for x in src)
        close(quick(*here, ids), model(*here, ids))


def test_another_source_or_memory_begins_anew():
    model, (src,), tgt = prepared("building_blocks", EncoderDecoder)
    quick = cached(model)
    quick(src, tgt[:, :4])
    close(quick(src[[1, 2, 0]], tgt), model(src[[1, 2, 0]], tgt))
    memory = quick.encode(src)
    quick.decode(tgt[:, :4], memory, src)
    other = memory + 1
    close(quick.decode(tgt, other, src), model.decode(tgt, other, src))


def test_ids_changed_in_place_begin_anew():
    model, _, tgt = prepared("char_lm", DecoderOnly)
    quick = cached(model)
    quick(tgt[:, :4])
    tgt[:, 1] = 3
    close(quick(tgt), model(tgt))


@every_model
def test_after_an_error_nothing_is_left_of_the_call(name, kind):
    model, src, tgt = prepared(name, kind)
    quick = cached(model)
    quick(*src, tgt[:, :4])
    last = quick.decoder.blocks[-1].feed_forward
    with pytest.raises(ValueError, match=r"9 positions .* max_len=8"):
        quick(*src, torch.cat((tgt, tgt[:, :1]), dim=1))
    close(quick(*src, tgt[:, :6])[:, -2:], model(*src, tgt[:, :6])[:, 4:])
    handle = last.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        quick(*src, tgt[:, :7])
    handle.remove()
    close(quick(*src, tgt), model(*src, tgt))


def stop(*_) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
@every_model
def test_nothing_is_dropped_and_the_model_stays_as_it_was(name, kind):
    model, src, tgt = prepared(name, kind, dropout=0.5)
    calm = model(*src, tgt)
    before = {name: type(part) for name, part in model.named_modules()}
    quick = cached(model.train())
    logits = grown(quick, src, tgt, STEPS[1])
    close(logits, calm)
    assert not logits.requires_grad
    assert all(part.training for part in model.modules())
    after = {name: type(part) for name, part in model.named_modules()}
    assert before == after
    assert not any(isinstance(part, Cache) for part in model.modules())


@pytest.mark.slow
@every_model
def test_the_weights_are_the_models_own(name, kind):
    model, src, tgt = prepared(name, kind)
    quick = cached(model)
    theirs = dict(model.named_parameters())
    assert all(theirs[n] is w for n, w in quick.named_parameters())
    assert quick.state_dict().keys() == model.state_dict().keys()
    quick(*src, tgt[:, :4])
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.1)
    quick.forget()
    close(quick.forward(*src, tgt), model(*src, tgt))
