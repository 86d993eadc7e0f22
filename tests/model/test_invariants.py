"""What holds for every size and every choice: shapes, who sees whom."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.any_config import (
    configs,
    differ,
    few,
    fixed,
    kinds,
    padded,
    pair,
    same,
    seeds,
)
from tests.helpers.small import build, other, score
from tformer_lite import DecoderOnly, EncoderDecoder


@pytest.mark.slow
@fixed
@given(configs(least=2), few, few, few, seeds)
def test_shapes_are_the_documented_ones(config, b, s, t, seed):
    src, tgt = pair(config, b, s, t, seed)
    model = build(EncoderDecoder, config, seed)
    memory = model.encode(src)
    assert memory.shape == (b, s, config.d_model)
    lone = build(DecoderOnly, config, seed)
    for logits in (model(src, tgt), lone(tgt)):
        assert logits.shape == (b, t, config.vocab_size)
        assert logits.dtype == torch.float64
        assert logits.isfinite().all()


@pytest.mark.slow
@fixed
@given(kinds, configs(), few, st.integers(2, 5), seeds, st.data())
def test_nobody_sees_the_future_and_everyone_the_past(
    kind, config, b, t, seed, data
):
    cut = data.draw(st.integers(1, t - 1))
    src, tgt = pair(config, b, 3, t, seed)
    model = build(kind, config, seed)
    changed = tgt.clone()
    changed[:, cut] = other(tgt[:, cut], config.vocab_size)
    before, after = score(model, src, tgt), score(model, src, changed)
    same(after[:, :cut], before[:, :cut])
    seen = differ(after, before)
    assert seen[:, cut].all()
    assert seen[:, cut + 1 : cut + 2].all()


@pytest.mark.slow
@fixed
@given(kinds, configs(), st.integers(1, 3), seeds)
def test_a_window_reaches_its_width_less_one_in_each_layer(
    kind, config, width, seed
):
    config = replace(config, window=width, n_layers=min(config.n_layers, 2))
    reach = config.n_layers * (width - 1)
    src, tgt = pair(config, 2, 3, reach + 3, seed)
    model = build(kind, config, seed)
    changed = tgt.clone()
    changed[:, 1] = other(tgt[:, 1], config.vocab_size)
    before, after = score(model, src, tgt), score(model, src, changed)
    same(after[:, reach + 2 :], before[:, reach + 2 :])
    assert differ(after, before)[:, 1 : reach + 2].all()


@pytest.mark.slow
@fixed
@given(configs(window=4, n_layers=1), seeds)
def test_the_sliding_mask_sees_four_tokens(config, seed):
    model = build(DecoderOnly, config, seed)
    _, tgt = pair(config, 1, 1, 6, seed)
    changed = tgt.clone()
    changed[:, 1] = other(tgt[:, 1], config.vocab_size)
    seen = differ(model(tgt), model(changed))
    assert seen.tolist() == [[False, True, True, True, True, False]]


@pytest.mark.slow
@fixed
@given(kinds, configs(least=2), few, few, few, few, seeds)
def test_appended_padding_changes_nothing(kind, config, b, s, t, n, seed):
    config = replace(config, pad=seed % 2)
    src, tgt = pair(config, b, s, t, seed)
    model = build(kind, config, seed)
    pads = torch.full((b, n), config.pad)
    more = torch.cat((src, pads), 1), torch.cat((tgt, pads), 1)
    logits = score(model, src, tgt)
    same(score(model, *more)[:, :t], logits)
    same(score(model, src, more[1])[:, :t], logits)
    same(score(model, more[0], tgt), logits)


@pytest.mark.slow
@fixed
@given(configs(), few, st.integers(0, 1), seeds)
def test_appended_words_and_unknown_words_are_seen(config, t, pad, seed):
    src, tgt = pair(config, 2, 3, t, seed)
    model = build(EncoderDecoder, replace(config, pad=pad), seed)
    logits = model(src, tgt)
    for last in (torch.full((2, 1), 1 - pad), other(src[:, :1], 4)):
        more = torch.cat((src, last), 1)
        assert differ(model(more, tgt), logits).all()


@pytest.mark.slow
@fixed
@given(configs(), few, st.integers(2, 5), few, seeds)
def test_what_stands_at_padding_does_not_matter(config, b, s, t, seed):
    src, tgt = pair(config, b, s, t, seed)
    src = padded(src, torch.arange(b) % s + 1, config.pad)
    model = build(EncoderDecoder, config, seed)
    hidden = (src == config.pad)[..., None]
    x = model.src_embedding(src)
    mask = ~hidden[:, None, None, :, 0]
    noisy = x + hidden * torch.randn_like(x)
    memory, noisy_memory = model.encoder(x, mask), model.encoder(noisy, mask)
    same(noisy_memory * ~hidden, memory * ~hidden)
    logits = model.decode(tgt, memory, src)
    same(model.decode(tgt, noisy_memory, src), logits)
    assert differ(model.decode(tgt, memory.flip(-1), src), logits).all()


@pytest.mark.slow
@fixed
@given(kinds, configs(least=2), st.integers(2, 5), few, few, seeds)
def test_rows_of_a_batch_do_not_meet(kind, config, b, s, t, seed):
    src, tgt = pair(config, b, s, t, seed)
    src = padded(src, torch.arange(b) % s + 1, config.pad)
    tgt = padded(tgt, torch.arange(b) % t + 1, config.pad)
    model = build(kind, config, seed)
    alone = [score(model, src[[i]], tgt[[i]]) for i in range(b)]
    same(score(model, src, tgt), torch.cat(alone))
