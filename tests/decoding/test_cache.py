"""A model that keeps keys and values gives what the model itself gives: where
it begins anew, for newer attentions, and what cannot be kept."""

from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.helpers.small import NAMES, build, presets, small, words
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    MultiHeadAttention,
    cached,
    rotate,
)
from tformer_lite.decoding.cache.attention import Cache
from tformer_lite.decoding.cache.models import RecomputedModel
from tformer_lite.model.choices import PARTS

T = 8
STEPS = [(1,) * T, (3, 1, 1, 1, 2), (T,), (T - 1, 1)]
kinds = pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])


def prepared(name: str, kind: type, **changes) -> tuple:
    """A model, sources of different lengths (none for one that has none),
    and targets, one of them with padding in it."""
    model = build(kind, small(name, **changes))
    src = words(10, 3, 6)
    src[1, 3:] = src[2, 5:] = small(name).pad
    tgt = words(11, 3, T, seed=1)
    tgt[2, 5:] = small(name).pad
    return model, (src,) if kind is EncoderDecoder else (), tgt


def grown(model: nn.Module, src: tuple, tgt: Tensor, steps) -> Tensor:
    """The logits of a text that grows by so many tokens a step."""
    ends = torch.tensor(steps).cumsum(0).tolist()
    return torch.cat([model(*src, tgt[:, :end]) for end in ends], dim=1)


def close(mine: Tensor, theirs: Tensor) -> None:
    assert_close(mine, theirs.detach(), atol=1e-10, rtol=0)


NEW = [
    {"positions": "rotary"},
    {"n_kv_heads": 1},
    {"positions": "rotary", "n_kv_heads": 1},
    {"attention": "tiled"},
]
MORE = [
    {},
    {"window": 4, "feed_forward": "gated"},
    {"feed_forward": "mixture"},
]
NAMED = [
    {"attention": own, "cross_attention": cross}
    for own, cross in product(PARTS["attention"], PARTS["cross_attention"])
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "own"),
    [(name, {}) for name in NAMES]
    + [("building_blocks", new | more) for new, more in product(NEW, MORE)]
    + [("paper_base", own) for own in NAMED],
)
@kinds
def test_kept_keys_and_values_give_the_models_logits(name, own, kind):
    model, src, tgt = prepared(name, kind, **own)
    for steps in STEPS:
        quick = cached(model)
        assert not isinstance(quick, RecomputedModel)
        close(grown(quick, src, tgt, steps), model(*src, tgt))


@pytest.mark.slow
@kinds
@presets
def test_only_new_positions_are_computed(name, kind):
    model, src, tgt = prepared(name, kind)
    quick, lengths = cached(model), []
    for block in quick.decoder.blocks:
        block.feed_forward.register_forward_hook(
            lambda _module, args, _out: lengths.append(args[0].shape[1])
        )
    for end in (3, 4, 5, 7):
        assert quick(*src, tgt[:, :end]).shape[1] == lengths[-1]
    assert lengths == [3, 3, 1, 1, 1, 1, 2, 2]


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
@kinds
@presets
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
    with pytest.raises(ValueError, match=r"rows=\[1, 0, 2\] .* same source"):
        quick.reorder(torch.tensor([1, 0, 2]))
    close(quick(*src, tgt), model(*src, tgt)[:, 4:])


@pytest.mark.slow
@kinds
@presets
def test_ids_that_do_not_go_on_begin_anew(name, kind):
    model, src, tgt = prepared(name, kind)
    quick = cached(model)
    other = tgt.clone()
    other[0, 0] = 5
    for ids in (tgt[:, :5], tgt[:, :5], tgt[:, :3], other, tgt[:2]):
        here = tuple(x[: len(ids)] for x in src)
        close(quick(*here, ids), model(*here, ids))


def test_another_source_or_memory_or_other_ids_in_place_begin_anew():
    model, (src,), tgt = prepared("building_blocks", EncoderDecoder)
    quick = cached(model)
    quick(src, tgt[:, :4])
    close(quick(src[[1, 2, 0]], tgt), model(src[[1, 2, 0]], tgt))
    quick(src, tgt[:, :4])
    tgt[:, 1] = 3
    close(quick(src, tgt), model(src, tgt))
    memory = quick.encode(src)
    quick.decode(tgt[:, :4], memory, src)
    other = memory + 1
    close(quick.decode(tgt, other, src), model.decode(tgt, other, src))


def stop(*_) -> None:
    raise KeyboardInterrupt


@kinds
@presets
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


@pytest.mark.slow
@kinds
@presets
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


def test_a_text_may_outgrow_max_len_where_there_is_no_table():
    model, _, tgt = prepared("char_lm", DecoderOnly, positions="rotary")
    longer = tgt.repeat(1, 5)
    assert longer.shape[1] > model.config.max_len
    quick = cached(model)
    close(quick(longer[:, :30]), model(longer[:, :30]))
    close(quick(longer), model(longer)[:, 30:])


def placed_anew(x, start=0):
    """A place of the reader's own."""
    return rotate(x, start)


class LoudAttention(MultiHeadAttention):
    """A reader's own: half as loud again."""

    def forward(self, *args, **kwargs) -> Tensor:
        return 1.5 * super().forward(*args, **kwargs)


def mirrored(t: int, device=None) -> Tensor:
    """A mask that looks ahead only."""
    return torch.ones(t, t, dtype=torch.bool, device=device).triu()[None, None]


class Mine(DecoderOnly):
    """A reader's own: its words in another order."""

    def forward(self, ids):
        return super().forward(ids).flip(-1)


def anew(attention: object, **more: object) -> dict:
    """An attention of the reader's own for the decoder alone."""
    return {"attention": attention, "cross_attention": "split"} | more


ANEW = {
    "attention": anew(LoudAttention),
    "place": anew(partial(MultiHeadAttention, place=placed_anew)),
    "ahead": {"mask": mirrored},
}
CASES = [*product((DecoderOnly, EncoderDecoder), ANEW)]
CASES += [(EncoderDecoder, "cross"), (Mine, "model")]
# It turns each query from where its row stands, not from 0.
ANEW["cross"] = {"cross_attention": partial(MultiHeadAttention, place=rotate)}
ANEW["model"] = {}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_cannot_be_kept_is_computed_anew(kind, name):
    model, src, tgt = prepared("building_blocks", kind, **ANEW[name])
    with torch.no_grad():
        wanted = [model(*src, tgt[:, :end]) for end in (3, 4, 6)]
        swapped = model(*src, tgt[[1, 0, 2], :6])
    quick = cached(model.train())
    assert isinstance(quick, RecomputedModel)
    close(quick(*src, tgt[:, :3]), wanted[0])
    close(quick(*src, tgt[:, :4]), wanted[1][:, 3:])
    assert model.training
    if src:
        memory = quick.encode(*src)
        assert not memory.requires_grad
        close(quick.decode(tgt[:, :6], memory, *src), wanted[2][:, 4:])
    quick.reorder(torch.tensor([1, 0, 2]))
    close(quick(*src, tgt[[1, 0, 2], :6])[:, -1:], swapped[:, -1:])


def test_a_block_or_a_stack_of_the_readers_own_is_computed_anew():
    model, _, _ = prepared("char_lm", DecoderOnly)
    model.decoder.blocks[1].self_attention = LoudAttention(12, 3).double()
    assert isinstance(cached(model), RecomputedModel)
    model.decoder = nn.Identity()
    assert isinstance(cached(model), RecomputedModel)
