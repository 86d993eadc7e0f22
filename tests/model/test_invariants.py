"""What holds for every size and every choice: who sees whom, and that
the order of the words counts where there are positions."""

from dataclasses import replace
from functools import partial
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tests.helpers.small import build, other, score, small, words
from tformer_lite import Config, DecoderOnly, EncoderDecoder
from tformer_lite.model.choices import PARTS
from tformer_lite.model.models import BLOCKS

pytestmark = pytest.mark.slow
settings.register_profile(
    "fixed", deadline=None, derandomize=True, database=None, max_examples=30
)
fixed = settings.get_profile("fixed")
same = partial(assert_close, rtol=0, atol=1e-10)
few, several = st.integers(1, 5), st.integers(2, 5)
seeds = st.integers(0, 999)
kinds = st.sampled_from([EncoderDecoder, DecoderOnly])
CHOICES = {
    kind: st.sampled_from(sorted(known))
    for kind, known in (PARTS | {"residual": BLOCKS}).items()
    if not kind.startswith("src_")
}
FLAGS = ("bias", "head_bias", "final_norm", "tied")
FLAGS = dict.fromkeys(FLAGS, st.booleans())


@st.composite
def configs(draw, least: int = 3, **chosen) -> Config:
    """Any small config. Two channels after a norm are 1 and -1, so what
    should be visible needs `least` three."""
    chosen = draw(st.fixed_dictionaries(CHOICES | FLAGS)) | chosen
    n_heads = draw(st.integers(1, 3))
    # Rotary positions turn the channels of a head two by two.
    widths = (2, 4) if chosen["positions"] == "rotary" else (1, 2, 3, 4)
    heads = st.sampled_from([d for d in widths if d * n_heads >= least])
    attentions = chosen["attention"], chosen["cross_attention"]
    shared = (
        st.just(None)
        if "fused" in attentions
        else st.sampled_from(
            [n for n in (None, 1, 2, 3) if n_heads % (n or 1) == 0]
        )
    )
    return Config(
        vocab_size=draw(st.integers(4, 9)),
        src_vocab_size=draw(st.sampled_from((None, 4, 7))),
        max_len=12,
        d_model=draw(heads) * n_heads,
        n_heads=n_heads,
        n_kv_heads=draw(shared),
        n_layers=chosen.pop("n_layers", None) or draw(st.integers(1, 3)),
        d_ff=draw(st.integers(1, 7)),
        **chosen,
    )


def pair(config: Config, b: int, s: int, t: int, seed: int) -> tuple:
    """A batch of sources and one of targets, without padding."""
    src_size = config.src_vocab_size or config.vocab_size
    src = words(src_size, b, s, seed)
    return src, words(config.vocab_size, b, t, seed + 1)


def padded(ids: torch.Tensor, pad: int) -> torch.Tensor:
    """The ids, with padding in the end of each row: row i keeps i + 1."""
    b, t = ids.shape
    lengths = torch.arange(b)[:, None] % t + 1
    return ids.where(torch.arange(t) < lengths, pad)


def differ(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Which positions have other vectors."""
    return ((mine - theirs).abs() > 1e-9).any(-1)


@fixed
@given(kinds, configs(), several, seeds, st.data())
def test_nobody_sees_the_future_and_everyone_the_past(
    kind, config, t, seed, data
):
    cut = data.draw(st.integers(1, t - 1))
    src, tgt = pair(config, 2, 3, t, seed)
    model = build(kind, config, seed)
    changed = tgt.clone()
    changed[:, cut] = other(tgt[:, cut], config.vocab_size)
    before, after = score(model, src, tgt), score(model, src, changed)
    same(after[:, :cut], before[:, :cut])
    assert differ(after, before)[:, cut : cut + 2].all()


@fixed
@given(kinds, configs(), st.integers(1, 4), seeds)
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
    same(score(model, more[0], tgt), logits)


@fixed
@given(configs(), few, st.integers(0, 1), seeds)
def test_appended_words_and_unknown_words_are_seen(config, t, pad, seed):
    src, tgt = pair(config, 2, 3, t, seed)
    model = build(EncoderDecoder, replace(config, pad=pad), seed)
    logits = model(src, tgt)
    for last in (torch.full((2, 1), 1 - pad), other(src[:, :1], 4)):
        more = torch.cat((src, last), 1)
        assert differ(model(more, tgt), logits).all()


@fixed
@given(kinds, configs(least=2), several, few, few, seeds)
def test_rows_of_a_batch_do_not_meet(kind, config, b, s, t, seed):
    src, tgt = pair(config, b, s, t, seed)
    src, tgt = padded(src, config.pad), padded(tgt, config.pad)
    model = build(kind, config, seed)
    alone = [score(model, src[[i]], tgt[[i]]) for i in range(b)]
    same(score(model, src, tgt), torch.cat(alone))


orders = st.permutations(range(4)).filter(lambda p: p != sorted(p))


@fixed
@given(configs(positions="none"), orders, few, seeds)
def test_without_positions_the_encoder_sees_a_set(config, order, b, seed):
    src, tgt = pair(config, b, 4, 3, seed)
    src = padded(src, config.pad)
    model = build(EncoderDecoder, config, seed)
    same(model.encode(src[:, order]), model.encode(src)[:, order])
    same(model(src[:, order], tgt), model(src, tgt))


@pytest.mark.parametrize("shared", [{}, {"n_kv_heads": 1}])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary"])
def test_with_positions_order_matters(positions, shared):
    choices = {"positions": positions, "attention": "split"} | shared
    model = build(EncoderDecoder, small("paper_base", **choices))
    src = torch.arange(2, 6)[None]
    for order in permutations(range(4)):
        swapped = torch.tensor(order) != torch.arange(4)
        moved = differ(
            model.encode(src[:, order]), model.encode(src)[:, order]
        )
        assert moved[:, swapped].all()
